/** Drift: the value that the last apply left in a field, and the value it has now. */
import type { Address } from '../../../base/address.ts';
import { OWN_LANGUAGE } from '../../../base/hint.ts';
import { counted } from '../../../base/values/units.ts';
import { type Terminal, toType } from '../../terminal.ts';
import { printValue } from '../plan/plan.ts';
import { type Paint, padVisible } from '../text/paint.ts';
import { chooseView, type ViewDeps } from '../view.ts';

export interface Drift {
  readonly address: Address;
  readonly name: string;
  readonly vmid: number | undefined;
  readonly node: string;
  readonly gone: boolean;
  /** `applied` is what the last apply left, `actual` what was observed. */
  readonly fields: readonly {
    readonly path: string;
    readonly applied: unknown;
    readonly actual: unknown;
    /** An apply does not change it back. */
    readonly leftAlone?: true;
  }[];
}

/** VMs that were not compared, because a problem was reported for them. */
export interface DriftLimits {
  readonly notCompared: number;
}

export interface DriftView {
  drifts(stack: string, drifts: readonly Drift[], limits: DriftLimits): void;
}

export function driftView(deps: ViewDeps): DriftView {
  return chooseView<DriftView>(deps, {
    human: ({ terminal, print, paint }) => ({
      drifts: (_stack, drifts, limits) => print(renderDrift(drifts, paint, limits, terminal)),
    }),
    json: ({ print }) => ({ drifts: (stack, drifts, limits) => print({ stack, drifts, ...limits }) }),
  });
}

export function renderDrift(
  drifts: readonly Drift[],
  paint: Paint,
  limits: DriftLimits = { notCompared: 0 },
  terminal: Pick<Terminal, 'language'> = { language: OWN_LANGUAGE },
): string[] {
  const isPartial = limits.notCompared > 0;
  if (drifts.length === 0 && isPartial) return [paint('bold', 'No drift in the VMs that could be compared.')];
  if (drifts.length === 0)
    return [paint('bold', 'No drift: nothing was changed outside Proxwright since the last apply.')];
  const blocks = drifts.map(({ address, name, vmid, node, gone, fields }) => {
    const width = Math.max(0, ...fields.map(({ path }) => path.length));
    return [
      `${paint('yellow', `! ${address}`)}  ${paint('bold', name)} (VM ${vmid ?? '?'} on ${node})`,
      ...(gone ? [`    ${paint('red', 'gone: it was removed outside Proxwright')}`] : []),
      ...fields.map(({ path, applied, actual, leftAlone }) => {
        const remark = leftAlone ? '; an apply leaves it unchanged' : '';
        return `    ${padVisible(path, width)}  ${printValue(actual)}  ${paint('dim', `(applied: ${printValue(applied)}${remark})`)}`;
      }),
      '',
    ];
  });
  const total = paint('bold', `${counted(drifts.length, 'VM was', 'VMs were')} changed outside Proxwright.`);
  const isCorrectable = drifts.some(({ gone, fields }) => gone || fields.some(({ leftAlone }) => !leftAlone));
  return [...blocks.flat(), isCorrectable ? `${total} To correct this: ${toType(terminal, 'apply')}` : total];
}
