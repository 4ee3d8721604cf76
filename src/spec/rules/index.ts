/** How the rules of the kinds are run on a file. */

import { type Positioned, positionOf } from '../../kinds/fields/positions.ts';
import type { Complaint } from '../../kinds/fields/rule.ts';
import { IMAGE_RULES, unused, volumesAreDistinct } from '../../kinds/image/rules.ts';
import type { OutputsSpec } from '../../kinds/stack.ts';
import { TEMPLATE_RULES } from '../../kinds/template/rules.ts';
import { STACK_RULES, VM_RULES } from '../../kinds/vm/rules/index.ts';
import { inheriting, type Violation } from '../../kinds/vm/rules/rule.ts';
import type { Path } from '../located.ts';
import type { Findings } from '../problems/findings.ts';
import type { Images } from '../sections/images.ts';
import type { TemplateCandidate } from '../sections/templates.ts';
import type { Candidate } from '../sections/vm.ts';

export interface Judged {
  readonly vms: readonly Candidate[];
  /** They represent empty groups: rules about one VM apply to them, rules that compare VMs do not. */
  readonly specimens?: readonly Candidate[];
  readonly templates?: readonly TemplateCandidate[];
  readonly images?: Images;
  readonly outputs?: OutputsSpec;
}

export function checkRules(judged: Judged, findings: Findings): void {
  const { vms, specimens = [], templates = [], images, outputs = {} } = judged;
  const built = templates.map(({ template: { vm }, tainted, isCopy }) => ({
    vm: isCopy ? inheriting(vm) : vm,
    tainted,
  }));
  for (const rule of VM_RULES) {
    for (const { vm } of untainted([...built, ...vms, ...specimens], rule)) report(rule.check(vm), findings);
  }
  for (const rule of STACK_RULES) {
    const compared = untainted(rule.withTemplates ? [...built, ...vms] : vms, rule).map(({ vm }) => vm);
    report(rule.check(compared, outputs), findings);
  }
  for (const rule of TEMPLATE_RULES) {
    for (const { template } of untainted(templates, rule)) tell(rule.check(template), template.vm, findings);
  }
  if (images) checkImages(images, [...built, ...vms, ...specimens], findings);
}

function checkImages(images: Images, users: readonly Candidate[], findings: Findings): void {
  const candidates = [...(images.byName?.values() ?? [])];
  for (const rule of IMAGE_RULES) {
    for (const { image } of untainted(candidates, rule)) tell(rule.check(image), image, findings);
  }
  const named = untainted(candidates, volumesAreDistinct).filter(({ image }) => image.file !== '');
  for (const complaint of volumesAreDistinct.check(named.map(({ image }) => image))) {
    tell([complaint], complaint.image, findings);
  }
  // A disk with a mistake may be the one that should use the image.
  if (untainted(users, { reads: ['disks'] }).length < users.length) return;
  const [example = 'NODE'] = untainted(users, { reads: ['node'] }).map(({ vm }) => vm.fields.node);
  for (const { image } of untainted(candidates, { reads: ['nodes'] })) {
    if (images.mentioned.has(image.name) || image.nodes.length > 0) continue;
    tell([unused(image, example)], image, findings);
  }
}

function untainted<Each extends { readonly tainted: readonly Path[] }>(
  candidates: readonly Each[],
  { reads }: { readonly reads: readonly string[] },
): readonly Each[] {
  const patterns = reads.map((pattern) => pattern.split('.'));
  return candidates.filter(
    ({ tainted }) => !tainted.some((path) => patterns.some((pattern) => overlap(pattern, path))),
  );
}

/** Whether one path contains the other. */
function overlap(pattern: readonly string[], path: Path): boolean {
  const length = Math.min(pattern.length, path.length);
  return pattern.slice(0, length).every((part, index) => part === '*' || part === String(path[index]));
}

function report(violations: Iterable<Violation>, findings: Findings): void {
  for (const violation of violations) tell([violation], violation.vm, findings);
}

function tell(complaints: Iterable<Complaint>, about: Positioned, findings: Findings): void {
  for (const { path, detail, hint, severity } of complaints) {
    findings.add({ code: 'BAD_VALUE', where: positionOf(about, path), detail, hint, ...(severity && { severity }) });
  }
}
