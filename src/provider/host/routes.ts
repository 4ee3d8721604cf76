/** Services with typed messages as methods of the gRPC server, which knows only bytes. */
import {
  create,
  type DescMessage,
  type DescMethod,
  type DescService,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from '@bufbuild/protobuf';
import type { Method } from './grpc-server.ts';

/** One function for every call of the service. */
export type Handlers<Service extends DescService> = {
  readonly [Name in keyof Service['method']]: Service['method'][Name] extends {
    readonly input: infer Input extends DescMessage;
    readonly output: infer Output extends DescMessage;
  }
    ? (request: MessageShape<Input>) => Promise<MessageInitShape<Output>>
    : never;
};

export function methodsOf<Service extends DescService>(
  service: Service,
  handlers: Handlers<Service>,
): Map<string, Method> {
  const methods = service.methods.map((method): [string, Method] => {
    // The type above has made sure that each is there and takes what its method sends.
    const handler = handlers[method.localName as keyof Handlers<Service>] as Handler;
    return [pathOf(method), { kind: 'unary', handle: (message) => call(method, handler, message) }];
  });
  return new Map(methods);
}

export function pathOf(method: DescMethod): string {
  return `/${method.parent.typeName}/${method.name}`;
}

type Handler = (request: MessageShape<DescMessage>) => Promise<MessageInitShape<DescMessage>>;

async function call(method: DescMethod, handler: Handler, message: Uint8Array): Promise<Uint8Array> {
  const response = await handler(fromBinary(method.input, message));
  return toBinary(method.output, create(method.output, response));
}
