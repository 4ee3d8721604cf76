/** Fault rules from a file: a list in YAML or JSON. */
import { ProxwrightError } from '../../base/errors.ts';
import { parseYaml } from '../yaml-source.ts';
import { ALL_FAULT_KINDS, type FaultRule, faultRuleSchema } from './rule.ts';

export function parseRuleFile(text: string, file: string): FaultRule[] {
  const source = parseYaml(text, file);
  if (!Array.isArray(source.value)) {
    throw new ProxwrightError({
      code: 'BAD_VALUE',
      where: { file },
      detail: 'A file of fault rules is a list; this one is not.',
      hint: 'Begin every rule with "- kind: …".',
    });
  }
  return source.value.map((value: unknown, index) => {
    const parsed = faultRuleSchema.safeParse(value);
    if (parsed.success) return parsed.data;
    const [issue] = parsed.error.issues;
    const path = [index, ...(issue?.path ?? [])];
    throw new ProxwrightError({
      code: 'BAD_VALUE',
      where: { file, ...source.position(path) },
      detail: `Rule ${index + 1}, ${issue?.path.join('.') || 'as a whole'}: ${issue?.message ?? 'not a rule'}.`,
      hint: `Known kinds: ${ALL_FAULT_KINDS.join(', ')}.`,
    });
  });
}
