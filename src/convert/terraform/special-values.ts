/** Values that become more than one attribute, or that need to know more than themselves. */
import { attributeOf, textOf } from '../hcl/syntax.ts';
import type { AttributeRow } from '../mapping/rows.ts';
import type { Walk } from './context.ts';
import { NOTHING_AROUND, TargetObject } from './target.ts';
import { ipconfigParts, literalText, quotedText, type SourceValue } from './values.ts';

export type Special =
  | { readonly values: readonly (readonly [path: readonly string[], text: string])[] }
  | { readonly cannot: string };

/** Undefined: a plain value. */
export function special(row: AttributeRow, given: SourceValue, walk: Walk): Special | undefined {
  if (given.expression.kind === 'literal' && given.expression.value === null) return { values: [] };
  switch (row.as) {
    case 'template-flag':
      return templateFlag(given, walk);
    case 'machine':
      return machine(given);
    case 'power':
      return power(given, walk);
    case 'snippet':
      return snippet(row, given, walk);
    case 'cicustom':
      return cicustom(given, walk);
    case 'ipconfig':
      return ipconfig(row, given, walk);
    case 'password':
      return { values: [[['cloud_init', 'password_wo'], given.text]] };
    case 'checksum':
      return checksum(given, walk);
    case 'one-node':
      return oneNode(row, given, walk);
    case 'cpu-flag':
      return cpuFlag(row, given, walk);
    case 'token-id':
      return tokenOf(given, walk);
    case 'boot-disk':
      return bootDisk(given, walk);
    case 'usb-host':
      return literalText(given.expression) === 'spice'
        ? { values: [[['spice'], 'true']] }
        : {
            cannot: 'Only root@pam can pass a USB port of the host. Use a mapping: `usb = { usb0 = { mapping = … } }`.',
          };
    default:
      return undefined;
  }
}

function templateFlag({ expression }: SourceValue, { context }: Walk): Special {
  return expression.kind === 'literal' || context.isTemplate !== undefined
    ? { values: [] }
    : {
        cannot: 'Convert must know whether it is a template, which is another resource: name the state with `--state`.',
      };
}

/** The former provider leaves the VM off at its creation only, and the HA manager starts it a moment later. */
function power({ expression }: SourceValue, { context }: Walk): Special | undefined {
  const state = textOf(attributeOf(context.block.body, 'hastate')?.value);
  const isOff = expression.kind === 'literal' && expression.value === false;
  if (!isOff || (state !== 'started' && state !== 'enabled')) return undefined;
  context.found('dropped', expression, 'oncreate', 'The HA manager starts the VM: `hastate` says so.');
  return { values: [] };
}

function bootDisk({ expression, text }: SourceValue, { context }: Walk): Special {
  const order = textOf(attributeOf(context.block.body, 'boot')?.value);
  if (!order?.startsWith('order=')) return { values: [[['boot'], `[${text}]`]] };
  context.found('dropped', expression, 'bootdisk', '`boot` says it.');
  return { values: [] };
}

function machine({ expression, text }: SourceValue): Special {
  const literal = literalText(expression);
  const [type = '', ...options] = literal?.split(',') ?? [];
  const viommu = options.find((option) => option.startsWith('viommu='))?.slice('viommu='.length);
  if (literal === undefined) return { values: [[['machine'], text]] };
  if (literal === '') return { values: [] };
  return {
    values: [
      [['machine'], quotedText(type)],
      ...(viommu === undefined ? [] : [[['machine_options', 'viommu'], quotedText(viommu)] as const]),
    ],
  };
}

const SNIPPET_KEYS: Readonly<Record<string, string>> = {
  user_data: 'user',
  network_data: 'network',
  meta_data: 'meta',
};

function snippet(row: AttributeRow, given: SourceValue, walk: Walk): Special {
  const { context } = walk;
  const path = (row.to ?? '').split('.');
  const name = path.at(-1) ?? '';
  const known = SNIPPET_KEYS[name] === undefined ? undefined : context.snippet(given.expression);
  if (known) {
    // The drive is an ISO image then, which a storage for disks does not take.
    if (known.storage !== undefined) walk.useStorage(known.storage);
    context.found(
      'note',
      given.expression,
      row.from,
      'The file goes onto an ISO image that Proxwright uploads; `cloud_init.storage` must take ISO images. An apply puts it into the drive of an existing VM; the guest sees it after a restart.',
    );
    return { values: [[path, known.content]] };
  }
  return { values: [[['cloud_init', 'snippets', SNIPPET_KEYS[name] ?? name], given.text]] };
}

function cicustom(given: SourceValue, { context }: Walk): Special {
  const { expression } = given;
  const text = context.source.slice(expression.start, expression.end);
  if (!text.startsWith('"'))
    return { cannot: 'Write the parts: `cloud_init = { snippets = { user = "local:snippets/…" } }`.' };
  const fields = text.slice(1, -1).split(/,(?![^{]*\})/);
  const values = fields.map((field) => /^\s*(user|network|meta|vendor)=(.*?)\s*$/.exec(field));
  if (values.some((match) => match === null)) return { cannot: 'Convert cannot read this value.' };
  return {
    values: values.flatMap((match) =>
      match ? [[['cloud_init', 'snippets', match[1] ?? ''], `"${match[2] ?? ''}"`] as const] : [],
    ),
  };
}

function oneNode({ to = '' }: AttributeRow, { expression, text }: SourceValue, { context }: Walk): Special {
  const known = context.known?.('current_node') ?? context.known?.('target_node');
  if (known !== undefined) return { values: [[[to], quotedText(known)]] };
  const isOne = expression.kind === 'list' && expression.items.length === 1;
  return isOne
    ? { values: [[[to], text.slice(1, -1).trim().replace(/,$/, '')]] }
    : { cannot: 'A VM has one `node`. Name the one where it is, or the state with `--state`.' };
}

function cpuFlag({ to = '' }: AttributeRow, { expression }: SourceValue, walk: Walk): Special {
  const value = literalText(expression);
  const path = to.split('.');
  const flag = path.pop() ?? '';
  if (value === undefined) return { cannot: 'Write the flags as a list: `cpu = { flags = ["+aes", "-pcid"] }`.' };
  if (value === 'on' || value === 'off') walk.append(path, quotedText(`${value === 'on' ? '+' : '-'}${flag}`));
  return { values: [] };
}

function checksum(given: SourceValue, { context }: Walk): Special {
  const algorithm = textOf(attributeOf(context.block.body, 'checksum_algorithm')?.value);
  return algorithm === 'sha256' || algorithm === 'sha512'
    ? { values: [[[algorithm], given.text]] }
    : { cannot: 'Proxwright compares SHA-256 and SHA-512. Take such a checksum from the source of the image.' };
}

function tokenOf(given: SourceValue, walk: Walk): Special {
  const secret = attributeOf(walk.context.block.body, 'pm_api_token_secret')?.value;
  if (!secret) return { cannot: 'Set PM_API_TOKEN_ID and PM_API_TOKEN_SECRET, or PROXMOX_VE_API_TOKEN.' };
  return { values: [[['token'], `"${inTemplate(given)}=${inTemplate(walk.value(secret))}"`]] };
}

/** As a part of a quoted text. */
function inTemplate({ expression, text }: SourceValue): string {
  const isQuoted = (expression.kind === 'literal' || expression.kind === 'template') && text.startsWith('"');
  return isQuoted ? text.slice(1, -1) : `\${${text}}`;
}

function ipconfig(row: AttributeRow, given: SourceValue, walk: Walk): Special {
  const slot = `net${/\d+$/.exec(row.from)?.[0] ?? '0'}`;
  const element = new TargetObject();
  const parts = ipconfigParts(given, walk.context.source);
  const families = [
    ['ipv4', 'ip', 'gw'],
    ['ipv6', 'ip6', 'gw6'],
  ] as const;
  for (const [family, address, gateway] of families) {
    if (parts) {
      const [ip, gw] = [parts.get(address), parts.get(gateway)];
      if (ip !== undefined) element.set([family, 'address'], ip);
      if (gw !== undefined && ip !== undefined) element.set([family, 'gateway'], gw);
    } else {
      const find = (key: string) => `try(regex("(?:^|,)${key}=([^,]+)", ${given.text})[0], null)`;
      element.set(
        [family],
        `can(regex("(?:^|,)${address}=", ${given.text})) ? { address = ${find(address)}, gateway = ${find(gateway)} } : null`,
      );
    }
  }
  if (!element.isEmpty) walk.add('nics', { key: slot, element, around: NOTHING_AROUND, joins: true, left: () => {} });
  return { values: [] };
}
