/**
 * The recipe of a template: a fingerprint of everything it is made from. It is recorded in the state and in the template's
 * notes; the same recipe means that there is nothing to do, another one that a new version is built.
 */
import type { Address } from '../../base/address.ts';
import type { ResolvedSecret } from '../../base/secret.ts';
import { fingerprint, slowDigest } from '../fingerprint.ts';
import { imageVolid } from '../image/file.ts';
import type { ResolvedStack } from '../stack.ts';
import { sourceVolumes } from '../vm/config/disks.ts';
import type { ResolvedTemplate } from './stack.ts';

/** Enough to tell recipes apart, and short enough for a line in the notes. */
const DIGITS = 16;

/** Any user who may read the notes sees the recipe, so it must not help to guess a secret. */
const SALT = 'proxwright recipe';
const DIGEST_BYTES = 24;

export type Secrets = ReadonlyMap<Address, ReadonlyMap<string, ResolvedSecret>>;

export function recipeOf(template: ResolvedTemplate, stack: Pick<ResolvedStack, 'images'>, secrets: Secrets): string {
  const { vm, from, install, madeFrom } = template;
  // Its node, name, id and time limits do not change its content.
  const { name: _name, node: _node, vmid: _vmid, ...fields } = vm.fields;
  const secretDigests = [...(secrets.get(vm.address) ?? [])]
    .filter(([path]) => !vm.sensitive?.includes(path))
    .map(([path, { value }]) => [path, slowDigest(SALT, value.reveal(), DIGEST_BYTES).toString('hex')]);
  const ingredients = {
    fields,
    from,
    installs: install !== undefined,
    madeFrom,
    images: imagesIn(template, stack),
    // The names of these keys are part of the fingerprint: a new name would rebuild every template.
    told: secretDigests,
  };
  return fingerprint(ingredients).slice(0, DIGITS);
}

function imagesIn({ vm }: ResolvedTemplate, { images }: Pick<ResolvedStack, 'images'>): unknown[] {
  const volumes = new Set(sourceVolumes(vm.fields));
  return images
    .filter(({ fields, file }) => volumes.has(imageVolid(fields.storage, fields.content, file)))
    .map(({ fields: { url, path, sha256, sha512 } }) => ({ url, path, sha256, sha512 }));
}

/** Templates that were built from another recipe than the present one. */
export function outdatedTemplates(
  stack: Pick<ResolvedStack, 'images' | 'templates'>,
  recorded: (address: Address) => { readonly template?: { readonly recipe: string } | undefined } | undefined,
  secrets: Secrets,
): Address[] {
  return stack.templates.flatMap((template) => {
    const { address } = template.vm;
    const known = recorded(address)?.template?.recipe;
    return known !== undefined && known !== recipeOf(template, stack, secrets) ? [address] : [];
  });
}
