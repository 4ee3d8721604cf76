/**
 * An empty VM that is started boots into nothing; that is nearly always a forgotten `clone`. It is asked of VMs that are
 * about to be made and of no others: one that was taken over has its system on disks whose origin nobody knows any more.
 */
import type { Diagnostic } from '../../../base/diagnostics.ts';
import { ProxwrightError } from '../../../base/errors.ts';
import { advice, command, setting } from '../../../base/hint.ts';
import type { ResolvedVm } from '../../stack.ts';
import { whereOf } from '../where.ts';

export function nothingToBootFrom(vm: ResolvedVm): Diagnostic | undefined {
  const { clone, disks, boot, power, pci, usb, extra } = vm.fields;
  const hasMedium = Object.values(disks ?? {}).some(
    ({ iso, import_from }) => Boolean(iso) || import_from !== undefined,
  );
  const bootsElsewhere =
    boot?.some((device) => /^(net|usb|hostpci)/.test(device)) || pci || usb || extra?.args !== undefined;
  if (clone || hasMedium || bootsElsewhere || power === 'stopped') return undefined;
  return new ProxwrightError({
    code: 'BAD_VALUE',
    where: whereOf(vm),
    detail:
      'This VM would be created empty and started with nothing to boot from: it has neither a clone, an ISO nor an imported disk.',
    hint: advice`Say ${setting('clone', { template: '…' })}, give a disk import_from or iso, boot from the network (${setting('boot', ['net0'])}), or say ${setting('power', 'stopped')}. If the VM exists already, take it over: ${command('import', vm.address, 'ID')}`,
  }).diagnostic;
}
