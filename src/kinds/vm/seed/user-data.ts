/** Custom user-data that a guest would not read. */
import type { SeedFields } from './fields.ts';

/** First lines by which cloud-init recognises the kind of user-data. */
const CLOUD_INIT_KINDS = /^(#cloud-config|#!|#include|#cloud-boothook|#part-handler|#upstart-job|## template: ?jinja)/;
const MIME_MESSAGE = /^(content-type|mime-version|from |received):?/i;

/** Why the guest would silently ignore custom user-data; undefined if it would not. */
export function userDataProblem(guest: SeedFields['guest'], text: string): string | undefined {
  switch (guest) {
    case 'talos':
      return /^#cloud-config\s*$/m.test(text.split('\n', 1)[0] ?? '')
        ? 'Talos ignores user-data whose first line is "#cloud-config"; it needs a machine configuration.'
        : undefined;
    case 'cloud-init':
      return CLOUD_INIT_KINDS.test(text) || MIME_MESSAGE.test(text)
        ? undefined
        : 'cloud-init ignores user-data whose first line does not say what it is, for example "#cloud-config" or "#!/bin/sh".';
    case 'plain':
      return undefined;
  }
}
