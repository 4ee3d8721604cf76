/**
 * Proxmox does not list templates, storages and bridges that a token may not use. So a problem such as "does not exist" may
 * really be a missing privilege; it is then reported as one, with the commands that grant it.
 */
import type { Diagnostic } from '../../base/diagnostics.ts';
import { ProxwrightError } from '../../base/errors.ts';
import type { Visibility } from '../../kinds/privileges/need.ts';
import { KINDS } from '../../kinds/registry.ts';
import type { ResolvedStack } from '../../kinds/stack.ts';
import type { Pve } from '../../pve/client.ts';
import { assumedNeeds } from './assumed.ts';
import { checkNeeds } from './check.ts';
import { Grants, isRealRoot } from './grants.ts';
import { RUN_AS_ROOT } from './report.ts';
import type { Requirement } from './requirement.ts';

export interface UnseenInput {
  readonly pve: Pve;
  readonly stack: ResolvedStack;
  /** The problems that prevented a plan. */
  readonly problems: readonly Diagnostic[];
  readonly signal?: AbortSignal | undefined;
}

/** Replaces problems about things that the token could not have seen. */
export async function explainUnseen({ pve, stack, problems, signal }: UnseenInput): Promise<readonly Diagnostic[]> {
  if (isRealRoot(pve)) return problems;
  const grants = new Grants(pve, signal);
  const needed = problems.map((problem) => visibilityOf(problem, stack));
  await grants.ask(needed.flatMap((visibility) => (visibility ? [visibility.path.path] : [])));
  const isHeld = ({ privileges, path }: Visibility) => grants.holds({ privileges, paths: [path] });
  const shadowed = needed.some((visibility) => visibility?.path.below && isHeld(visibility))
    ? await shadowedVms(pve, signal)
    : [];
  const missed = needed.map((visibility): Visibility | undefined => {
    if (!visibility || !isHeld(visibility)) return visibility;
    const [path] = visibility.path.below ? shadowed : [];
    return path === undefined ? undefined : { ...visibility, path: { path } };
  });
  if (missed.every((visibility) => !visibility)) return problems;
  const remedies = new Remedies({ pve, stack, problems, signal });
  const isBlind = Object.keys(await pve.access.permissions({}, { signal })).length === 0;
  const explained: Diagnostic[] = [];
  for (const [index, problem] of problems.entries()) {
    const visibility = missed[index];
    if (!visibility) explained.push(problem);
    // A token without privileges gets one message, with everything that the stack needs.
    else if (!isBlind)
      explained.push(unseen(problem, visibility, pve.principal, await remedies.forOne(visibility, problem)));
    else if (index === missed.findIndex(Boolean)) {
      explained.push(unseen(problem, visibility, pve.principal, await remedies.forEverything(visibility, problem)));
    }
  }
  return explained;
}

interface Remedy {
  /** Remarks about the commands. */
  readonly notes: readonly string[];
  /** For an administrator. */
  readonly commands: string;
}

class Remedies {
  readonly #input: UnseenInput;

  constructor(input: UnseenInput) {
    this.#input = input;
  }

  async forOne({ privileges, path }: Visibility, { where = {} }: Diagnostic): Promise<Remedy> {
    const requirement: Requirement = { privileges, paths: [path], because: [{ where, step: 'plan' }] };
    return { notes: [], commands: await this.#commandsFor([requirement]) };
  }

  async forEverything(visibility: Visibility, problem: Diagnostic): Promise<Remedy> {
    const { pve, stack, signal } = this.#input;
    const version = await pve.authenticate({ signal });
    const nodes = new Map((await pve.nodes({ signal })).map(({ node }) => [node, { online: true }]));
    const observed = { nodes, templates: new Map(), pciMappings: { ok: false, needs: 'privileges' } } as const;
    const assumed = assumedNeeds({ stack, version, observed, now: 0, lifecycle: true });
    if (!assumed.ok) return this.forOne(visibility, problem);
    const notes = [
      `${pve.principal} has no privileges at all. These commands grant what the stack needs.`,
      ...assumed.guesses,
    ];
    return { notes, commands: await this.#commandsFor(assumed.needs.requirements) };
  }

  async #commandsFor(requirements: readonly Requirement[]): Promise<string> {
    const { pve, stack, signal } = this.#input;
    const version = await pve.authenticate({ signal });
    const { missing, notChecked } = await checkNeeds(
      { requirements, rootOnly: [], tags: [] },
      { pve, stack, version, signal },
    );
    return [...missing, ...notChecked].flatMap(({ hint }) => hint?.text ?? []).join('\n');
  }
}

/** VMs with an entry that hides the inherited VM.Audit. */
async function shadowedVms(pve: Pve, signal: AbortSignal | undefined): Promise<string[]> {
  const permissions = await pve.access.permissions({}, { signal });
  return Object.entries(permissions).flatMap(([path, granted]) =>
    /^\/vms\/\d+$/.test(path) && !('VM.Audit' in granted) ? [path] : [],
  );
}

function unseen(
  problem: Diagnostic,
  { what, privileges, path }: Visibility,
  principal: string,
  { notes, commands }: Remedy,
): Diagnostic {
  const [first] = privileges;
  return new ProxwrightError({
    code: 'PRIVILEGE_MISSING',
    ...(problem.where && { where: problem.where }),
    detail: [
      problem.detail,
      `${principal} cannot see ${what}, even if it exists: it lacks ${first} on ${path.path}. If the name is right, grant the privilege.`,
      ...notes,
      RUN_AS_ROOT,
    ].join('\n'),
    hint: commands,
  }).diagnostic;
}

function visibilityOf({ code, where }: Diagnostic, stack: ResolvedStack): Visibility | undefined {
  if (!where || (code !== 'MISSING_REFERENCE' && code !== 'PRIVILEGE_MISSING')) return undefined;
  return KINDS.map((kind) => kind.visibility?.(where, stack)).find((visibility) => visibility !== undefined);
}
