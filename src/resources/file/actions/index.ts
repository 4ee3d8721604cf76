/** What each step of a file does, by the name of its action. */
import type { FileAction } from '../context.ts';
import type { FileActionName, FileInputs } from '../steps.ts';
import { fetchImage } from './fetch.ts';
import { removeImage } from './remove.ts';
import { sendImage } from './send.ts';

export { type OpenFileStep, settleFile } from './settle.ts';

export const FILE_ACTIONS: { readonly [Name in FileActionName]: FileAction<FileInputs[Name]> } = {
  'image.fetch': fetchImage,
  'image.send': sendImage,
  'image.remove': removeImage,
};
