/** What an action on a file is given beside what every action gets. */
import type { ImageSource } from '../../base/image-source.ts';
import type { ActionContext } from '../action.ts';
import type { FileRecord } from './record.ts';
import type { ImageOrigin } from './steps.ts';

/** The door to bytes of our own, for any origin. */
export type ImageSources = (origin: ImageOrigin) => ImageSource;

export interface FileContext extends ActionContext {
  /** What is remembered of a file right now. */
  file(key: string): FileRecord | undefined;
  /** Records a fact about a file; null forgets it. */
  learnFile(key: string, file: FileRecord | null): Promise<void>;
  /** The door to bytes of our own. */
  imageSource(origin: ImageOrigin): ImageSource;
}

export type FileAction<Input> = (context: FileContext, input: Input) => Promise<void>;
