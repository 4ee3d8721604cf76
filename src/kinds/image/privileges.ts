/** What each step of a file needs. The map is total: the compiler refuses a new action until it says what it needs. */
import { type Need, need, on } from '../privileges/need.ts';
import type { FileActionName, FileInputs, FilePlace, FileStep } from './steps.ts';

const WHOLE = { field: '' } as const;

/** Every action starts and ends with a listing of the storage, which Datastore.Allocate alone does not allow. */
const look = ({ storage }: FilePlace): Need =>
  need(['Datastore.Audit', 'Datastore.AllocateSpace'], on(`/storage/${storage}`), WHOLE);

const template = ({ storage }: FilePlace): Need =>
  need('Datastore.AllocateTemplate', on(`/storage/${storage}`), { field: 'storage' });

const removal = ({ storage }: FilePlace, field: string): Need =>
  need('Datastore.Allocate', on(`/storage/${storage}`), { field });

export const FILE_PRIVILEGES: {
  readonly [Name in FileActionName]: (input: FileInputs[Name]) => readonly Need[];
} = {
  'image.fetch': (input) => [
    look(input),
    template(input),
    // Sys.Audit together with Sys.Modify on / is enough too: they allowed it before this privilege existed.
    {
      ...need('Sys.AccessNetwork', on(`/nodes/${input.node}`), { field: 'url' }),
      instead: [need('Sys.Audit', on('/'), { field: 'url' }), need('Sys.Modify', on('/'), { field: 'url' })],
    },
    ...(input.replace ? [removal(input, '')] : []),
  ],
  // An upload overwrites the file that has the name, so replacing needs nothing more.
  'image.send': (input) => [look(input), template(input)],
  'image.remove': (input) => [look(input), removal(input, '')],
};

export function needsOfFileStep(step: FileStep): readonly Need[] {
  switch (step.action) {
    case 'image.fetch':
      return FILE_PRIVILEGES['image.fetch'](step.input);
    case 'image.send':
      return FILE_PRIVILEGES['image.send'](step.input);
    case 'image.remove':
      return FILE_PRIVILEGES['image.remove'](step.input);
  }
}
