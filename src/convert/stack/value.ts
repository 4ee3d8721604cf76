/** A value of Terraform's language. */
export type Value = string | number | boolean | null | readonly Value[] | { readonly [name: string]: Value };
