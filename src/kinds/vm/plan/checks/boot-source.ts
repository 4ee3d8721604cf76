/**
 * Refuses an empty VM that would be started with nothing to boot from; usually its `clone` was forgotten. Only new VMs are
 * checked: the disks of an imported VM hold a system already, wherever it came from.
 */
import type { Diagnostic } from '../../../../base/diagnostics.ts';
import { ProxwrightError } from '../../../../base/errors.ts';
import { advice, command, setting } from '../../../../base/hint.ts';
import { whereOf } from '../../../fields/positions.ts';
import type { ResolvedVm } from '../../stack.ts';

export function nothingToBootFrom(vm: ResolvedVm): Diagnostic | undefined {
  const { clone, disks, boot, power, pci, usb, args, extra } = vm.fields;
  const hasMedium = Object.values(disks ?? {}).some(
    ({ iso, import_from }) => Boolean(iso) || import_from !== undefined,
  );
  const ownArguments = args ?? extra?.args;
  const bootsElsewhere =
    boot?.some((device) => /^(net|usb|hostpci)/.test(device)) || pci || usb || ownArguments !== undefined;
  if (clone || hasMedium || bootsElsewhere || power === 'stopped') return undefined;
  return new ProxwrightError({
    code: 'BAD_VALUE',
    where: whereOf(vm),
    detail:
      'This VM would be created empty and started with nothing to boot from: it has neither a clone, an ISO nor an imported disk.',
    hint: advice`Set ${setting('clone', { template: '…' })}, give a disk import_from or iso, boot from the network (${setting('boot', ['net0'])}), or set ${setting('power', 'stopped')}. If the VM exists already, import it: ${command('import', vm.address, 'ID')}`,
  }).diagnostic;
}
