/** The actions of a file, by name. */
import type { ActionDefinition, Occupancy } from '../../action.ts';
import type { FileActionName, FileContext, FileInputs, FilePlace } from '../steps.ts';
import { fetchImage } from './fetch.ts';
import { removeImage } from './remove.ts';
import { sendImage } from './send.ts';
import { settleFile } from './settle.ts';

export const FILE_ACTIONS: { readonly [Name in FileActionName]: ActionDefinition<FileInputs[Name], FileContext> } = {
  'image.fetch': { label: 'transfer', run: fetchImage, settle: settleFile, occupies: transferTo },
  'image.send': {
    label: 'transfer',
    run: sendImage,
    settle: settleFile,
    occupies: transferTo,
    verbs: { create: 'upload', replace: 'upload again' },
    localFiles: ({ origin }) => (origin.kind === 'file' ? [origin.path] : []),
  },
  'image.remove': { label: 'destroy', run: removeImage, settle: settleFile },
};

/** A transfer shares the limits of clones without being a creation. */
function transferTo({ node, storage }: FilePlace): Occupancy {
  return { kind: 'copy', nodes: [node], storages: [storage], isCreation: false };
}
