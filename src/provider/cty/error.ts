/** A value that does not fit its type, with the place where. */
import type { AttributePath } from './path.ts';

export class CtyError extends Error {
  readonly path: AttributePath;
  readonly reason: string;

  constructor(path: AttributePath, reason: string) {
    super(path.length === 0 ? reason : `${formatPath(path)}: ${reason}`);
    this.name = 'CtyError';
    this.path = path;
    this.reason = reason;
  }
}

/** As the host's language writes it: `disks["scsi0"].size`. */
export function formatPath(path: AttributePath): string {
  const text = path.map((step) => {
    if (step.kind === 'attribute') return `.${step.name}`;
    return step.kind === 'key' ? `[${JSON.stringify(step.key)}]` : `[${step.index}]`;
  });
  return text.join('').replace(/^\./, '');
}
