/** Drift for people: how we left a field, and how it was found. */
import { counted } from '../../base/count.ts';
import type { Drift } from '../drifts.ts';
import { type Paint, padVisible } from './paint.ts';
import { printValue } from './plan-view.ts';

export function renderDrift(drifts: readonly Drift[], paint: Paint): string[] {
  if (drifts.length === 0) return [paint('bold', 'No drift: nobody else changed anything since the last apply.')];
  const blocks = drifts.map(({ address, name, vmid, node, gone, fields }) => {
    const width = Math.max(0, ...fields.map(({ path }) => path.length));
    return [
      `${paint('yellow', `! ${address}`)}  ${paint('bold', name)} (VM ${vmid ?? '?'} on ${node})`,
      ...(gone ? [`    ${paint('red', 'gone: somebody removed it')}`] : []),
      ...fields.map(
        ({ path, applied, actual }) =>
          `    ${padVisible(path, width)}  ${printValue(actual)}  ${paint('dim', `(applied: ${printValue(applied)})`)}`,
      ),
      '',
    ];
  });
  const total = `${counted(drifts.length, 'VM was', 'VMs were')} changed by somebody else.`;
  return [...blocks.flat(), `${paint('bold', total)} Put it right: proxwright apply`];
}
