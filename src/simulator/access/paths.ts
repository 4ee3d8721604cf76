/** Paths of the access control tree: `/vms/101`, `/storage/local`, `/sdn/zones/localnetwork/vmbr0/50`. */

/** Rule [source AC AccessControl.pm normalize_path]: single slashes, none at the end, one at the start; else invalid. */
export function normalizePath(path: string | undefined): string | undefined {
  if (path === undefined || path === '' || path === '0') return undefined;
  const joined = path.replace(/\/+/g, '/').replace(/\/$/, '') || '/';
  const absolute = joined.startsWith('/') ? joined : `/${joined}`;
  return /^[A-Za-z0-9._\-/]+$/.test(absolute) ? absolute : undefined;
}

const NAME = '[A-Za-z0-9._-]+';

/** Rule [source AC AccessControl.pm check_path]: where an entry may be added. */
const ACL_PATH = new RegExp(
  `^(?:${[
    '/',
    `/access(?:/groups(?:/${NAME})?|/realm(?:/${NAME})?)?`,
    `/nodes(?:/${NAME})?`,
    `/pool(?:/${NAME}(?:/${NAME}){0,2})?`,
    '/sdn',
    '/sdn/controllers(?:/[A-Za-z0-9_-]+)?',
    '/sdn/(?:dns|fabrics|ipams|prefix-lists|route-maps)(?:/[A-Za-z0-9]+)?',
    `/sdn/zones(?:/${NAME}(?:/${NAME}(?:/[1-9][0-9]{0,3})?)?)?`,
    `/storage(?:/${NAME})?`,
    '/vms(?:/[1-9][0-9]{2,})?',
    `/mapping(?:/${NAME}(?:/${NAME})?)?`,
  ].join('|')})$`,
);

export function isAclPath(path: string): boolean {
  return ACL_PATH.test(path);
}

/**
 * The levels an evaluation walks through. The empty first level is the root; a path sent without its leading slash has
 * none, and then entries on `/` do not count.
 * Rule [source AC AccessControl.pm roles]: the path is split as Perl does it, empty levels at the end fall off.
 */
export function levelsOf(path: string): string[] {
  if (path === '/') return [''];
  const levels = path.split('/');
  while (levels.at(-1) === '') levels.pop();
  return levels;
}
