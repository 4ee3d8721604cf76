/** Receives request bodies: as a whole, or piece by piece without holding the whole body. */
import { isStreamBody, type StreamBody, TransportFailure, type WireRequest } from '../../base/transport.ts';
import { type DecodedUpload, UploadReader } from './multipart.ts';

/** The whole body, or the parts of an upload. */
export interface ReceivedBody {
  readonly bytes: Uint8Array;
  readonly upload: DecodedUpload | undefined;
}

/** Receives how much has arrived; may wait, or end the connection by throwing. */
export type OnProgress = (doneBytes: number, sizeBytes: number) => Promise<void>;

/** Of anything but an upload; pveproxy refuses far less, and that with an answer. */
const LARGEST_WHOLE_BYTES = 64 * 1024 * 1024;

/** `boundary` says that the request is an upload. */
export async function receiveBody(
  body: WireRequest['body'],
  boundary: string | undefined,
  onProgress: OnProgress,
): Promise<ReceivedBody> {
  const stream = isStreamBody(body) ? body : wholeBody(typeof body === 'string' ? Buffer.from(body) : body);
  return boundary === undefined
    ? { bytes: await collect(stream), upload: undefined }
    : { bytes: new Uint8Array(), upload: await readUpload(stream, boundary, onProgress) };
}

/** Bytes that are already complete, as one piece. */
function wholeBody(bytes: Uint8Array = new Uint8Array()): StreamBody {
  return {
    sizeBytes: bytes.length,
    open: async function* () {
      if (bytes.length > 0) yield bytes;
    },
  };
}

/** The same body, reporting how much of it has been sent. */
export function watchedBody(body: StreamBody, onSent: (sentBytes: number) => void): StreamBody {
  return {
    sizeBytes: body.sizeBytes,
    open: async function* () {
      let sentBytes = 0;
      for await (const chunk of body.open()) {
        yield chunk;
        sentBytes += chunk.length;
        onSent(sentBytes);
      }
    },
  };
}

async function collect(body: StreamBody): Promise<Uint8Array> {
  const { sizeBytes } = body;
  if (sizeBytes > LARGEST_WHOLE_BYTES) throw cut(`a body of more than ${LARGEST_WHOLE_BYTES} bytes`);
  const parts: Uint8Array[] = [];
  let doneBytes = 0;
  for await (const chunk of body.open()) {
    doneBytes += chunk.length;
    if (doneBytes > sizeBytes) throw cut('more bytes than were announced');
    parts.push(chunk);
  }
  if (doneBytes < sizeBytes) throw cut('fewer bytes than were announced');
  const [first] = parts;
  return parts.length === 1 && first ? first : Buffer.concat(parts);
}

async function readUpload(
  body: StreamBody,
  boundary: string,
  onProgress: OnProgress,
): Promise<DecodedUpload | undefined> {
  const { sizeBytes } = body;
  if (sizeBytes === 0) return undefined;
  const reader = new UploadReader(boundary);
  let doneBytes = 0;
  await onProgress(0, sizeBytes);
  for await (const chunk of body.open()) {
    doneBytes += chunk.length;
    if (doneBytes > sizeBytes) throw cut('more bytes than were announced');
    reader.write(chunk);
    await onProgress(doneBytes, sizeBytes);
  }
  if (doneBytes < sizeBytes) throw cut('fewer bytes than were announced');
  return reader.end();
}

function cut(message: string): TransportFailure {
  return new TransportFailure({ kind: 'cut', delivered: 'perhaps', message });
}
