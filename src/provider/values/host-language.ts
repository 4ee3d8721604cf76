/** Hints in the host's language: `efi: { storage: … }` is `efi = { storage = … }` there, and our commands are the host's. */
import {
  type Command,
  type Hint,
  type HintLanguage,
  hintIn,
  isList,
  OWN_LANGUAGE,
  type SettingValue,
} from '../../base/hint.ts';

/** The host wraps longer lines unless they are indented, and a wrapped setting cannot be pasted. */
const SHORT_ENOUGH = 60;

/** The connection and the rollout of a stack file are in the provider block of the host. */
const OF_PROVIDER = /^(?:connection\.|(?=rollout\b))/;

const HOST_LANGUAGE: HintLanguage = {
  setting: ({ path, value }) => {
    const whose = OF_PROVIDER.test(path) ? 'the provider’s ' : '';
    const name = path.replace(OF_PROVIDER, '');
    if (value === undefined) return `${whose}${name}`;
    const written = `${name} = ${hclValue(value)}`;
    return written.length > SHORT_ENOUGH ? `${whose}\n\n  ${written}\n\n` : `${whose}${written}`;
  },
  command: hostCommand,
};

export function inHostLanguage(hint: Hint): string {
  // A setting on a separate line needs no spaces around it.
  return hintIn(HOST_LANGUAGE, hint)
    .replace(/ +\n\n/g, '\n\n')
    .replace(/\n\n (?! )/g, '\n\n')
    .trimEnd();
}

/** The host knows the address of the resource; a hint cannot. */
function hostCommand(ours: Command): string {
  const { command, args } = ours;
  // The host has no such option.
  if (args.includes('--destroy-data')) return 'terraform apply with keep = false, then terraform destroy';
  switch (command) {
    case 'apply': {
      if (args.includes('--only')) return 'terraform apply -target=ADDRESS';
      return args.includes('--replace') ? 'terraform apply -replace=ADDRESS' : 'terraform apply';
    }
    case 'plan':
      return 'terraform plan';
    case 'import': {
      const [, vmid = 'NODE/VMID'] = args.filter((arg) => !arg.startsWith('--'));
      // The host imports only what is not in its state.
      const first = args.includes('--accept-identity') ? 'terraform state rm ADDRESS, then ' : '';
      return `${first}terraform import ADDRESS ${vmid === 'ID' ? 'NODE/VMID' : vmid}`;
    }
    case 'state forget':
      return 'terraform state rm ADDRESS';
    case 'state mv':
      return 'terraform state mv OLD NEW';
    case 'state recover':
      return 'terraform import ADDRESS NODE/VMID';
    default:
      return OWN_LANGUAGE.command(ours);
  }
}

function hclValue(value: SettingValue): string {
  // `…` is not a value but a place for one.
  if (typeof value === 'string') return value === '…' ? value : JSON.stringify(value);
  if (value === null || typeof value !== 'object') return String(value);
  if (isList(value)) return `[${value.map(hclValue).join(', ')}]`;
  const entries = Object.entries(value);
  return entries.length === 0
    ? '{}'
    : `{ ${entries.map(([name, inner]) => `${name} = ${hclValue(inner)}`).join(', ')} }`;
}
