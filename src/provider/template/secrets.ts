/** What a template is told while it is made: a password, and documents that it installs itself by. */
import type { ResolvedTemplate } from '../../spec/types.ts';
import type { CtyObject } from '../cty/value.ts';
import type { Surroundings } from '../surroundings.ts';
import { documentsOf, secretsOf, type VmSecrets } from '../vm/secrets.ts';

export async function templateSecrets(
  surroundings: Surroundings,
  config: CtyObject,
  { vm }: ResolvedTemplate,
): Promise<VmSecrets> {
  const [password, documents] = await Promise.all([secretsOf(surroundings, config, vm), documentsOf(surroundings, vm)]);
  return new Map([...password, ...documents]);
}
