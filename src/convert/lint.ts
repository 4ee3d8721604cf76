/** Traps in a configuration of bpg or Telmate: what will go wrong, on which line, and the source of that knowledge. */
import { positionOf } from './hcl/scanner.ts';
import { attributeOf, type Block, type Body, blocksOf, type Expression, type Span, textOf } from './hcl/syntax.ts';
import type { Trap } from './report.ts';
import type { DeclaredResource, Module, SourceFile } from './terraform/module.ts';

const BPG = 'https://github.com/bpg/terraform-provider-proxmox/issues';
const TELMATE = 'https://github.com/Telmate/terraform-provider-proxmox/issues';

type Report = (span: Pick<Span, 'start'>, what: string) => void;

interface Rule {
  readonly name: string;
  readonly remedy: string;
  readonly known: readonly string[];
  /** Of a VM. */
  vm?(vm: DeclaredResource, report: Report, module: Module): void;
  /** Of any other block at the top of a file. */
  block?(block: Block, report: Report, module: Module): void;
}

const isBpg = ({ source }: DeclaredResource): boolean => source?.provider === 'bpg';
const first = (body: Body, type: string): Block | undefined => blocksOf(body, type)[0];
const valueIn = (body: Body | undefined, name: string): Expression | undefined =>
  body && attributeOf(body, name)?.value;
const isLiteral = (expression: Expression | undefined, ...values: unknown[]): boolean =>
  expression?.kind === 'literal' && values.includes(expression.value);
const hasDynamic = (body: Body, type: string): boolean =>
  blocksOf(body, 'dynamic').some(({ labels }) => labels[0]?.text === type);

/** The whole text of a block, for words inside of it. */
const textIn = (file: SourceFile, { start, end }: Span): string => file.text.slice(start, end);

const RULES: readonly Rule[] = [
  {
    name: 'boot-order',
    remedy: 'Name only devices that the VM has. Proxwright refuses such a boot order in the plan.',
    known: [`${TELMATE}/1184`],
    vm: (vm, report) => {
      const boot = attributeOf(vm.block.body, isBpg(vm) ? 'boot_order' : 'boot');
      const devices = boot && bootDevices(boot.value);
      const known = devices && knownDevices(vm);
      if (!devices || !known) return;
      for (const device of devices.filter((each) => !known.has(each))) {
        report(boot, `The boot order names ${device}, and no block describes such a device.`);
      }
    },
  },
  {
    name: 'lost-devices',
    remedy: 'Proxwright keeps what a template has and the configuration does not mention.',
    known: [`${TELMATE}/957`, `${TELMATE}/977`, `${TELMATE}/1471`],
    vm: (vm, report) => {
      const clone = attributeOf(vm.block.body, 'clone') ?? attributeOf(vm.block.body, 'clone_id');
      if (isBpg(vm) || !clone) return;
      const { body } = vm.block;
      const has = (type: string) => blocksOf(body, type).length > 0 || hasDynamic(body, type);
      if (!has('disk') && !has('disks')) report(clone, 'A clone without a disk block loses the disks of its template.');
      if (!has('network')) report(clone, 'A clone without a network block loses the network cards of its template.');
    },
  },
  {
    name: 'nics-by-position',
    remedy: 'Proxwright names network cards by slot: `nics = { net0 = { … } }`.',
    known: [`${BPG}/1529`],
    vm: (vm, report) => {
      const blocks = blocksOf(vm.block.body, 'network_device');
      const [, second] = blocks;
      if (second)
        report(second, 'Network cards count by position: removing one moves all that follow, and their addresses.');
    },
  },
  {
    name: 'disks-by-position',
    remedy: 'Give every disk its slot. Proxwright names disks by slot: `disks = { scsi0 = { … } }`.',
    known: [`${TELMATE}/239`, `${TELMATE}/538`],
    vm: (vm, report) => {
      if (isBpg(vm)) return;
      const loose = blocksOf(vm.block.body, 'disk').filter(({ body }) => !attributeOf(body, 'slot'));
      for (const disk of loose)
        report(disk, 'A disk without a slot gets the next one; the disk of the template may be detached.');
    },
  },
  {
    name: 'vmid-zero',
    remedy: 'Leave it out: Proxwright reserves a free id. Or give each VM its own.',
    known: [`${TELMATE}/1136`, `${BPG}/1610`],
    vm: ({ block }, report) => {
      const id = attributeOf(block.body, 'vmid') ?? attributeOf(block.body, 'vm_id');
      if (id && isLiteral(id.value, 0, '0'))
        report(id, 'Id 0 means the next free one. VMs created at the same time may get the same.');
    },
  },
  {
    name: 'clone-mode',
    remedy: 'Say which one you mean. Proxwright: `clone = { mode = "full" }` or `"linked"`.',
    known: [`${BPG}/551`, `${TELMATE}/267`],
    vm: (vm, report) => {
      const { body } = vm.block;
      const block = first(body, 'clone');
      if (block && !attributeOf(block.body, 'full')) report(block, 'Without `full`, every clone copies all disks.');
      const named = attributeOf(body, 'clone') ?? attributeOf(body, 'clone_id');
      if (!isBpg(vm) && named && !attributeOf(body, 'full_clone'))
        report(named, 'Without `full_clone`, every clone copies all disks.');
    },
  },
  {
    name: 'agent',
    remedy:
      'Install qemu-guest-agent in the image or by user-data, or turn the agent off. Proxwright asks it only at creation.',
    known: [`${BPG}/669`, `${TELMATE}/325`],
    vm: (vm, report, module) => {
      const { body } = vm.block;
      const enabled = first(body, 'agent');
      const isOn = isLiteral(valueIn(enabled?.body, 'enabled'), true) || isLiteral(valueIn(body, 'agent'), 1, true);
      const clones = first(body, 'clone') ?? attributeOf(body, 'clone') ?? attributeOf(body, 'clone_id');
      if (!isOn || clones || bringsAgent(body)) return;
      if (module.files.some(({ text }) => text.includes('qemu-guest-agent'))) return;
      const where = enabled ?? attributeOf(body, 'agent') ?? vm.block;
      report(
        where,
        'The agent is on, and nothing installs it. Every refresh and apply waits for it, up to 15 minutes.',
      );
    },
  },
  {
    name: 'forces-replacement',
    remedy: 'Proxwright changes these in place, or leaves the VM as it is.',
    known: [`${BPG}/1622`, `${BPG}/2901`, `${BPG}/2433`],
    vm: (vm, report) => {
      if (!isBpg(vm)) return;
      const { body } = vm.block;
      const initialization = first(body, 'initialization');
      const account = initialization && first(initialization.body, 'user_account');
      if (account) report(account, 'In releases before April 2025, any change of the user account replaces the VM.');
      const data = initialization && attributeOf(initialization.body, 'user_data_file_id');
      if (data) report(data, 'Another file, or none, replaces the VM.');
      const tpm = first(body, 'tpm_state');
      if (tpm && first(body, 'clone')) report(tpm, 'A TPM that the template does not have replaces the VM.');
    },
  },
  {
    name: 'node-change',
    remedy: 'Proxwright always migrates. With bpg, set `migrate = true`.',
    known: [`${BPG}/499`, `${BPG}/1256`],
    vm: (vm, report) => {
      const node = attributeOf(vm.block.body, 'node_name');
      const migrates = isLiteral(valueIn(vm.block.body, 'migrate'), true);
      if (vm.type === 'proxmox_virtual_environment_vm' && node && !migrates) {
        report(node, 'A changed node destroys the VM and creates a new one, because `migrate` is off.');
      }
    },
  },
  {
    name: 'vm-monitor',
    remedy:
      'Remove it: Proxmox VE 9 has VM.GuestAgent.Audit and Sys.Audit instead. `proxwright permissions` prints the roles.',
    known: [`${TELMATE}/1365`],
    block: (block, report) => {
      const name = block.labels[0]?.text ?? '';
      const list = attributeOf(
        block.body,
        name === 'proxmox_virtual_environment_role' ? 'privileges' : 'pm_minimum_permission_list',
      );
      if (list?.value.kind !== 'list') return;
      const entry = list.value.items.find((item) => textOf(item) === 'VM.Monitor');
      if (entry)
        report(entry, 'VM.Monitor does not exist in Proxmox VE 9: no role can have it, and the upgrade breaks this.');
    },
  },
  {
    name: 'insecure',
    remedy: 'Pin the certificate: `fingerprint` or `ca`. Proxwright always verifies it.',
    known: [`${BPG}/1609`],
    block: (block, report, module) => {
      if (block.type !== 'provider') return;
      const flag = attributeOf(block.body, 'insecure') ?? attributeOf(block.body, 'pm_tls_insecure');
      if (flag && isLiteral(module.byDefault(flag.value), true, 'true', 1))
        report(flag, 'The certificate is not verified: any host on the way can read the token.');
    },
  },
];

export const LINT_RULES: readonly Pick<Rule, 'name' | 'remedy' | 'known'>[] = RULES;

export function lintModules(modules: readonly Module[]): readonly Trap[] {
  const traps: Trap[] = [];
  for (const module of modules) {
    for (const rule of RULES) {
      const reporter =
        (file: SourceFile, subject: string): Report =>
        ({ start }, what) => {
          const { line } = positionOf(file.text, start);
          traps.push({ rule: rule.name, file: file.path, line, subject, what, remedy: rule.remedy, known: rule.known });
        };
      for (const vm of module.resources.filter(({ source }) => source?.to === 'proxwright_vm')) {
        rule.vm?.(vm, reporter(vm.file, `${vm.type}.${vm.name}`), module);
      }
      for (const file of module.files) {
        for (const item of file.body.items) {
          if (item.kind !== 'block') continue;
          const subject = [item.type, ...item.labels.map(({ text }) => text)].join('.').replace(/^resource\./, '');
          rule.block?.(item, reporter(file, subject), module);
        }
      }
    }
  }
  return traps.sort((a, b) => a.file.localeCompare(b.file) || a.line - b.line || a.rule.localeCompare(b.rule));
}

function bootDevices(expression: Expression): readonly string[] | undefined {
  if (expression.kind === 'list') {
    const devices = expression.items.map(textOf);
    return devices.every((device) => device !== undefined) ? devices : undefined;
  }
  const text = textOf(expression);
  return text?.startsWith('order=') ? text.slice('order='.length).split(';').filter(Boolean) : undefined;
}

/** User-data in another file, or an installation from a CD, may well install the agent. */
function bringsAgent(body: Body): boolean {
  const initialization = first(body, 'initialization')?.body;
  const files = ['user_data_file_id', 'vendor_data_file_id'].some(
    (name) => valueIn(initialization, name) !== undefined,
  );
  const drives = [...blocksOf(body, 'disk'), ...blocksOf(body, 'disks')];
  const isInstalled = first(body, 'cdrom') !== undefined || valueIn(body, 'iso') !== undefined;
  return files || isInstalled || valueIn(body, 'cicustom') !== undefined || drives.some((drive) => hasIso(drive.body));
}

const hasIso = (body: Body): boolean =>
  valueIn(body, 'iso') !== undefined || body.items.some((item) => item.kind === 'block' && hasIso(item.body));

/** Undefined: a template, a loop or an expression may bring others. */
function knownDevices(vm: DeclaredResource): ReadonlySet<string> | undefined {
  const { body } = vm.block;
  if (isBpg(vm) ? first(body, 'clone') !== undefined : false) return undefined;
  if (blocksOf(body, 'dynamic').length > 0) return undefined;
  const slotOf = ({ body: inner }: Block) => valueIn(inner, isBpg(vm) ? 'interface' : 'slot');
  const isOpen = [...blocksOf(body, 'disk'), ...blocksOf(body, 'cdrom')].some(
    (drive) => slotOf(drive)?.kind !== 'literal' && slotOf(drive) !== undefined,
  );
  if (isOpen) return undefined;
  const text = textIn(vm.file, body);
  const slots = text.match(/\b(?:scsi|ide|sata|virtio)\d+\b/g) ?? [];
  const nics = blocksOf(body, isBpg(vm) ? 'network_device' : 'network');
  const cdrom = first(body, 'cdrom') ? ['ide3'] : [];
  const boot = attributeOf(body, isBpg(vm) ? 'boot_order' : 'boot');
  const named = boot ? textIn(vm.file, boot) : '';
  const elsewhere = slots.filter((slot) => countOf(text, slot) > countOf(named, slot));
  return new Set([...elsewhere, ...cdrom, ...nics.map((_, index) => `net${index}`)]);
}

function countOf(text: string, word: string): number {
  return text.match(new RegExp(`\\b${word}\\b`, 'g'))?.length ?? 0;
}
