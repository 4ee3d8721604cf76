/**
 * Finds the endpoint for a method and path. The tree is built from the facts about every endpoint of the API, so that a
 * path that exists but is not simulated differs from one that Proxmox itself does not have.
 */
import { paramFault } from '../http/response.ts';
import type { ApiFacts } from '../schema/api-of-release.ts';
import type { EndpointFacts, RawParams } from '../schema/types.ts';
import type { Handler, Routes } from './call.ts';

export interface Endpoint {
  readonly name: string;
  /** Absent for an endpoint that is known only by name. */
  readonly facts: EndpointFacts;
  /** Absent if Proxmox has the endpoint and the simulator does not. */
  readonly handler: Handler | undefined;
}

export interface RouteMatch {
  readonly endpoint: Endpoint;
  readonly pathParams: Readonly<Record<string, string>>;
}

interface TreeNode {
  readonly literals: Map<string, TreeNode>;
  variable: { readonly name: string; readonly node: TreeNode } | undefined;
  readonly methods: Map<string, Endpoint>;
}

export class Router {
  readonly #root = newTreeNode();

  constructor(routes: Routes, facts: ApiFacts, others: readonly string[]) {
    for (const name of others) this.#add({ name, facts: NO_FACTS, handler: undefined });
    const handlers = new Map<string, Handler | undefined>(Object.entries(routes));
    for (const [name, endpointFacts] of Object.entries(facts)) {
      this.#add({ name, facts: endpointFacts, handler: handlers.get(name) });
    }
  }

  find(method: string, segments: readonly string[]): RouteMatch | undefined {
    const pathParams: Record<string, string> = {};
    let node = this.#root;
    for (const [index, segment] of segments.entries()) {
      const literal = node.literals.get(segment);
      if (literal) {
        node = literal;
        continue;
      }
      if (!node.variable) return undefined;
      // Rule [source PC RESTHandler.pm map_path_to_methods]: a volume id swallows the rest of the path, slashes included.
      const isLast = GREEDY.has(node.variable.name) && index < segments.length - 1;
      const value = isLast ? segments.slice(index).join('/') : segment;
      // Rule [source PC RESTHandler.pm register_method]: a variable part of a path has no white space.
      if (WHITE_SPACE.test(value)) return undefined;
      pathParams[node.variable.name] = value;
      node = node.variable.node;
      if (isLast) break;
    }
    const endpoint = node.methods.get(method);
    return endpoint && { endpoint, pathParams };
  }

  #add(endpoint: Endpoint): void {
    const [method = '', path = ''] = endpoint.name.split(' ');
    let node = this.#root;
    for (const segment of path.split('/').filter(Boolean)) node = childOf(node, segment);
    node.methods.set(method, endpoint);
  }
}

/** Rule [source PM HTTPServer.pm rest_handler]: the same name in path and body must have the same value. */
export function mergeParams(params: RawParams, pathParams: Readonly<Record<string, string>>): RawParams {
  for (const [name, value] of Object.entries(pathParams)) {
    const other = params[name];
    if (other !== undefined && String(other) !== value) {
      throw paramFault({ [name]: 'duplicate parameter (already defined in URI) with conflicting values!' });
    }
  }
  return { ...params, ...pathParams };
}

const NO_FACTS: EndpointFacts = { params: {}, permissions: {} };

const GREEDY = new Set(['volume']);
const WHITE_SPACE = /\s/;

function newTreeNode(): TreeNode {
  return { literals: new Map(), variable: undefined, methods: new Map() };
}

function childOf(node: TreeNode, segment: string): TreeNode {
  if (segment.startsWith('{')) {
    node.variable ??= { name: segment.slice(1, -1), node: newTreeNode() };
    return node.variable.node;
  }
  const existing = node.literals.get(segment) ?? newTreeNode();
  node.literals.set(segment, existing);
  return existing;
}
