/** Terraform files near a stack file: in its directory, in the one above, and one level below. */
import { readdir, readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import type { TextFile } from '../engine/doctor/upgrade/terraform-files.ts';

const MOST_FILES = 200;
const WANTED = /\.tf$|^\.terraform\.lock\.hcl$/;

/** What cannot be read is not there. */
export async function terraformFilesNear(directory: string): Promise<TextFile[]> {
  const entries = await list(directory);
  const below = entries.filter((entry) => entry.isDirectory() && !/^\.|^node_modules$/.test(entry.name));
  const places = [directory, join(directory, '..'), ...below.map(({ name }) => join(directory, name))];
  const found = await Promise.all(
    places.map(async (place) =>
      (await list(place))
        .filter((entry) => entry.isFile() && WANTED.test(entry.name))
        .map(({ name }) => join(place, name)),
    ),
  );
  const texts = found
    .flat()
    .slice(0, MOST_FILES)
    .map(async (path): Promise<TextFile[]> => {
      const text = await readFile(path, 'utf8').catch(() => undefined);
      return text === undefined ? [] : [{ name: relative(directory, path), text }];
    });
  return (await Promise.all(texts)).flat();
}

function list(directory: string) {
  return readdir(directory, { withFileTypes: true }).catch(() => []);
}
