/** A seed: the volume that tells a guest what it is to be. Its name follows its contents, so a changed one is another file. */
import { digestOf, type SeedDocuments, type SeedSource, seedDocuments } from './documents.ts';
import { writeIso } from './iso9660.ts';

export interface Seed {
  /** Of the documents and the VM they are for. */
  readonly digest: string;
  readonly fileName: string;
  readonly documents: SeedDocuments;
}

/** By which cloud-init and Talos find the volume. */
const LABEL = 'cidata';
/** Any fixed instant does; guests do not look at it. */
const AT = new Date('2000-01-01T00:00:00Z');
const NAME_DIGITS = 16;

export function seedOf(source: SeedSource): Seed {
  const documents = seedDocuments(source);
  const digest = digestOf([source.uuid], documents);
  const name = source.fields.name.replace(/[^A-Za-z0-9.-]/g, '-');
  return { digest, fileName: `proxwright-${name}-${digest.slice(0, NAME_DIGITS)}.iso`, documents };
}

export function seedBytes(documents: SeedDocuments): Uint8Array {
  const files = Object.entries(documents).map(([name, text]) => ({ name, bytes: new TextEncoder().encode(text) }));
  return writeIso({ label: LABEL, files, at: AT });
}
