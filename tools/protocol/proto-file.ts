/**
 * Reads the part of proto3 that our own `.proto` files use into the descriptor that code generators take, so that no one
 * needs `protoc`. Anything else in a file is an error with its line, never skipped.
 */
import { create } from '@bufbuild/protobuf';
import {
  type DescriptorProto,
  DescriptorProto_ReservedRangeSchema,
  DescriptorProtoSchema,
  type EnumDescriptorProto,
  EnumDescriptorProtoSchema,
  EnumValueDescriptorProtoSchema,
  type FieldDescriptorProto,
  FieldDescriptorProto_Label,
  FieldDescriptorProto_Type,
  FieldDescriptorProtoSchema,
  type FileDescriptorProto,
  FileDescriptorProtoSchema,
  MethodDescriptorProtoSchema,
  OneofDescriptorProtoSchema,
  type ServiceDescriptorProto,
  ServiceDescriptorProtoSchema,
  SourceCodeInfo_LocationSchema,
} from '@bufbuild/protobuf/wkt';
import { Tokens } from './proto-tokens.ts';

/** The numbers by which a descriptor says where a comment belongs: fields of the messages in `descriptor.proto`. */
const PLACE = {
  message: 4,
  enum: 5,
  service: 6,
  syntax: 12,
  field: 2,
  nestedMessage: 3,
  nestedEnum: 4,
  oneof: 8,
  enumValue: 2,
  method: 2,
} as const;

const SCALARS: Readonly<Record<string, FieldDescriptorProto_Type>> = {
  string: FieldDescriptorProto_Type.STRING,
  bytes: FieldDescriptorProto_Type.BYTES,
  bool: FieldDescriptorProto_Type.BOOL,
  int64: FieldDescriptorProto_Type.INT64,
};

export function readProto(name: string, text: string): FileDescriptorProto {
  const reader = new ProtoReader(name, text);
  reader.readFile();
  return reader.file;
}

/** A field or a method whose type is a name that may be declared further down. */
interface Reference {
  readonly name: string;
  /** Where the name is used, outermost first. */
  readonly scope: readonly string[];
  set(fullName: string, isEnum: boolean): void;
}

class ProtoReader {
  readonly file: FileDescriptorProto;
  readonly #tokens: Tokens;
  readonly #references: Reference[] = [];
  /** Full names of messages and enums, and whether each is an enum. */
  readonly #declared = new Map<string, boolean>();

  constructor(name: string, text: string) {
    this.file = create(FileDescriptorProtoSchema, { name, sourceCodeInfo: {} });
    this.#tokens = new Tokens(name, text);
  }

  readFile(): void {
    const { file } = this;
    const tokens = this.#tokens;
    this.#comment([PLACE.syntax]);
    for (const expected of ['syntax', '=', '"proto3"', ';', 'package']) tokens.expect(expected);
    file.syntax = 'proto3';
    file.package = tokens.name();
    tokens.expect(';');
    while (!tokens.isAtEnd) {
      if (tokens.peek === 'message') {
        file.messageType.push(this.#message([PLACE.message, file.messageType.length], [file.package]));
      } else if (tokens.peek === 'enum') {
        file.enumType.push(this.#enum([PLACE.enum, file.enumType.length], [file.package]));
      } else if (tokens.peek === 'service') {
        file.service.push(this.#service([PLACE.service, file.service.length]));
      } else throw tokens.unexpected('message, enum or service');
    }
    for (const reference of this.#references) this.#resolve(reference);
  }

  #message(place: readonly number[], outer: readonly string[]): DescriptorProto {
    const tokens = this.#tokens;
    this.#comment(place);
    tokens.expect('message');
    const message = create(DescriptorProtoSchema, { name: tokens.name() });
    const scope = [...outer, message.name];
    this.#declared.set(scope.join('.'), false);
    tokens.block(() => {
      if (tokens.peek === 'message') {
        const inner = [...place, PLACE.nestedMessage, message.nestedType.length];
        message.nestedType.push(this.#message(inner, scope));
      } else if (tokens.peek === 'enum') {
        message.enumType.push(this.#enum([...place, PLACE.nestedEnum, message.enumType.length], scope));
      } else if (tokens.peek === 'oneof') this.#oneof(message, place, scope);
      else if (tokens.peek === 'reserved') this.#reserved(message);
      else if (tokens.peek === 'map') this.#map(message, place, scope);
      else message.field.push(this.#field([...place, PLACE.field, message.field.length], scope));
    });
    return message;
  }

  #field(place: readonly number[], scope: readonly string[]): FieldDescriptorProto {
    const tokens = this.#tokens;
    this.#comment(place);
    const isRepeated = tokens.accept('repeated');
    const type = tokens.name();
    const field = this.#typed(tokens.name(), type, scope);
    field.label = isRepeated ? FieldDescriptorProto_Label.REPEATED : FieldDescriptorProto_Label.OPTIONAL;
    tokens.expect('=');
    field.number = tokens.integer();
    tokens.expect(';');
    return field;
  }

  #oneof(message: DescriptorProto, place: readonly number[], scope: readonly string[]): void {
    const tokens = this.#tokens;
    const oneofIndex = message.oneofDecl.length;
    this.#comment([...place, PLACE.oneof, oneofIndex]);
    tokens.expect('oneof');
    message.oneofDecl.push(create(OneofDescriptorProtoSchema, { name: tokens.name() }));
    tokens.block(() => {
      const field = this.#field([...place, PLACE.field, message.field.length], scope);
      message.field.push(Object.assign(field, { oneofIndex }));
    });
  }

  /** A map is a list of messages with a key and a value. */
  #map(message: DescriptorProto, place: readonly number[], scope: readonly string[]): void {
    const tokens = this.#tokens;
    this.#comment([...place, PLACE.field, message.field.length]);
    for (const expected of ['map', '<']) tokens.expect(expected);
    const keyType = tokens.name();
    tokens.expect(',');
    const valueType = tokens.name();
    tokens.expect('>');
    const name = tokens.name();
    const entry = `${camelCase(`_${name}`)}Entry`;
    const inside = [...scope, entry];
    this.#declared.set(inside.join('.'), false);
    const sides = [this.#typed('key', keyType, inside), this.#typed('value', valueType, inside)];
    for (const [position, side] of sides.entries()) {
      Object.assign(side, { number: position + 1, label: FieldDescriptorProto_Label.OPTIONAL });
    }
    message.nestedType.push(create(DescriptorProtoSchema, { name: entry, field: sides, options: { mapEntry: true } }));
    const field = this.#typed(name, entry, scope);
    tokens.expect('=');
    message.field.push(Object.assign(field, { number: tokens.integer(), label: FieldDescriptorProto_Label.REPEATED }));
    tokens.expect(';');
  }

  #reserved(message: DescriptorProto): void {
    this.#tokens.expect('reserved');
    const start = this.#tokens.integer();
    message.reservedRange.push(create(DescriptorProto_ReservedRangeSchema, { start, end: start + 1 }));
    this.#tokens.expect(';');
  }

  #enum(place: readonly number[], outer: readonly string[]): EnumDescriptorProto {
    const tokens = this.#tokens;
    this.#comment(place);
    tokens.expect('enum');
    const declared = create(EnumDescriptorProtoSchema, { name: tokens.name() });
    this.#declared.set([...outer, declared.name].join('.'), true);
    tokens.block(() => {
      this.#comment([...place, PLACE.enumValue, declared.value.length]);
      const name = tokens.name();
      tokens.expect('=');
      const number = tokens.integer();
      declared.value.push(create(EnumValueDescriptorProtoSchema, { name, number }));
      tokens.expect(';');
    });
    return declared;
  }

  #service(place: readonly number[]): ServiceDescriptorProto {
    const tokens = this.#tokens;
    this.#comment(place);
    tokens.expect('service');
    const service = create(ServiceDescriptorProtoSchema, { name: tokens.name() });
    const scope = [this.file.package];
    tokens.block(() => {
      this.#comment([...place, PLACE.method, service.method.length]);
      tokens.expect('rpc');
      const method = create(MethodDescriptorProtoSchema, { name: tokens.name() });
      tokens.expect('(');
      if (tokens.accept('stream')) method.clientStreaming = true;
      this.#later(tokens.name(), scope, (input) => {
        method.inputType = input;
      });
      for (const expected of [')', 'returns', '(']) tokens.expect(expected);
      if (tokens.accept('stream')) method.serverStreaming = true;
      this.#later(tokens.name(), scope, (output) => {
        method.outputType = output;
      });
      for (const expected of [')', ';']) tokens.expect(expected);
      service.method.push(method);
    });
    return service;
  }

  #typed(name: string, type: string, scope: readonly string[]): FieldDescriptorProto {
    const field = create(FieldDescriptorProtoSchema, { name, jsonName: camelCase(name) });
    const scalar = SCALARS[type];
    if (scalar !== undefined) field.type = scalar;
    else {
      this.#later(type, scope, (typeName, isEnum) => {
        field.type = isEnum ? FieldDescriptorProto_Type.ENUM : FieldDescriptorProto_Type.MESSAGE;
        field.typeName = typeName;
      });
    }
    return field;
  }

  #later(name: string, scope: readonly string[], set: Reference['set']): void {
    this.#references.push({ name, scope, set });
  }

  /** A name means the innermost declaration around its use. */
  #resolve({ name, scope, set }: Reference): void {
    for (let depth = scope.length; depth > 0; depth -= 1) {
      const fullName = [...scope.slice(0, depth), name].join('.');
      const isEnum = this.#declared.get(fullName);
      if (isEnum !== undefined) {
        set(`.${fullName}`, isEnum);
        return;
      }
    }
    throw new Error(`${this.file.name}: ${name}, used in ${scope.join('.')}, is not declared.`);
  }

  /** Keeps the comment above the next token for the declaration that begins there. */
  #comment(path: readonly number[]): void {
    const leadingComments = this.#tokens.comment;
    if (leadingComments === undefined) return;
    const location = create(SourceCodeInfo_LocationSchema, { path: [...path], span: [0, 0, 0], leadingComments });
    this.file.sourceCodeInfo?.location.push(location);
  }
}

const camelCase = (name: string) => name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
