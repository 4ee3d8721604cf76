/**
 * The possible order of the events of a run. A journal with another order was edited or damaged, and acting on it could
 * destroy a VM; a run that is about to record one has a bug. In both cases the error names the transition.
 */
import type { RunEvent } from './events.ts';

type StepStatus = 'open' | 'lost' | 'ended';

export class Transitions {
  #phase: 'new' | 'running' | 'ended' = 'new';
  readonly #steps = new Map<string, StepStatus>();
  readonly #endedResources = new Set<string>();

  /** Why the event is impossible here; undefined if it is possible. */
  accept(event: RunEvent): string | undefined {
    const problem = this.#problemOfRun(event) ?? this.#problemOfStep(event);
    if (problem === undefined) this.#follow(event);
    return problem;
  }

  #problemOfRun(event: RunEvent): string | undefined {
    if (this.#phase === 'ended') return `${event.event} after the end of the run`;
    if (event.event === 'runStarted') return this.#phase === 'new' ? undefined : 'a second start of the run';
    if (this.#phase === 'new') return `${event.event} before the start of the run`;
    if (event.event === 'runEnded' && event.outcome === 'done') {
      const open = [...this.#steps].find(([, status]) => status !== 'ended');
      return open && `a successful end of the run while ${open[0]} is open`;
    }
    if (event.event === 'resourceEnded' && this.#endedResources.has(event.address)) {
      return `a second end of ${event.address}`;
    }
    return undefined;
  }

  #problemOfStep(event: RunEvent): string | undefined {
    if (!('step' in event)) return undefined;
    const status = this.#steps.get(event.step);
    if (event.event === 'stepStarted') {
      if (this.#endedResources.has(event.address)) return `a step of ${event.address}, which has ended`;
      return status === undefined ? undefined : `a second start of ${event.step}`;
    }
    if (status === undefined) return `${event.event} of ${event.step}, which was not started`;
    if (status === 'ended') return `${event.event} of ${event.step}, which has ended`;
    return status === 'lost' && event.event !== 'stepFailed'
      ? `${event.event} of ${event.step}, which was lost`
      : undefined;
  }

  #follow(event: RunEvent): void {
    switch (event.event) {
      case 'runStarted':
        this.#phase = 'running';
        break;
      case 'runEnded':
        this.#phase = 'ended';
        break;
      case 'planned':
        // A run that lost a step is not ended, so a later plan may repeat a step that an earlier one ended or lost.
        this.#endedResources.clear();
        for (const [step, status] of this.#steps) if (status !== 'open') this.#steps.delete(step);
        break;
      case 'stepStarted':
        this.#steps.set(event.step, 'open');
        break;
      case 'stepDone':
        this.#steps.set(event.step, 'ended');
        break;
      case 'stepFailed':
        this.#steps.set(event.step, event.lost ? 'lost' : 'ended');
        break;
      case 'resourceEnded':
        this.#endedResources.add(event.address);
        break;
      default:
        break;
    }
  }
}
