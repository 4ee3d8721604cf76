// biome-ignore-all lint/suspicious/noTemplateCurlyInString: interpolations of HCL are written like this
/** Random Terraform files: blocks in blocks, every kind of expression, comments and odd white space. */
import fc from 'fast-check';

const name = fc.constantFrom('a', 'for_each', 'disk', 'x-y', 'größe', 'null_resource', 'inner');
const space = fc.constantFrom(' ', '  ', '\t', ' /* c */ ');
/** Without `$` and `%`: in front of an interpolation they would escape it. */
const plain = fc.stringMatching(/^[ !#&-[\]-~é]{0,8}$/);

const { expression } = fc.letrec<{ expression: string }>((tie) => {
  const inner = tie('expression');
  const quoted = fc.array(
    fc.oneof(
      plain,
      inner.map((each) => `\${ ${each} }`),
      fc.constant('$${x}'),
      fc.constant('\\n'),
    ),
    {
      maxLength: 3,
    },
  );
  return {
    expression: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      fc.integer({ min: 0, max: 5000 }).map(String),
      fc.constantFrom('true', 'null', 'var.a.b', 'data.x.y[0].z', 'a[*].b', '0.5', 'each.value["k"]'),
      quoted.map((parts) => `"${parts.join('')}"`),
      fc.array(inner, { maxLength: 3 }).map((items) => `[${items.join(', ')}]`),
      fc
        .array(fc.tuple(name, inner), { maxLength: 3 })
        .map((pairs) => `{ ${pairs.map(([k, v]) => `${k} = ${v}`).join(', ')} }`),
      fc.tuple(inner, inner, fc.constantFrom('+', '==', '&&', '<', '/')).map(([a, b, op]) => `(${a} ${op} ${b})`),
      fc.tuple(inner, inner, inner).map(([a, b, c]) => `(${a} ? ${b} : ${c})`),
      fc.tuple(name, fc.array(inner, { maxLength: 3 })).map(([f, args]) => `f_${f}(${args.join(', ')})`),
      fc.tuple(inner, inner).map(([of, each]) => `[for k, v in ${of} : ${each} if v != null]`),
      fc.tuple(inner, inner).map(([of, each]) => `{ for k, v in ${of} : k => ${each} }`),
    ),
  };
});

const comment = fc.constantFrom('# note\n', '// note\n', '/* note\n */\n', '\n', '\n\n', '\r\n');
const heredoc = fc
  .tuple(
    fc.constantFrom('<<', '<<-'),
    fc.array(fc.constantFrom('text', '  indented ${var.a}', '', '%{ if a }b%{ endif }'), { maxLength: 4 }),
  )
  .map(([start, lines]) => `${start}EOT\n${lines.map((line) => `${line}\n`).join('')}EOT`);

const { body } = fc.letrec<{ body: string }>((tie) => ({
  body: fc
    .array(
      fc.oneof(
        { depthSize: 'small' },
        comment,
        fc.tuple(name, space, space, fc.oneof(expression, heredoc)).map(([k, a, b, v]) => `${k}${a}=${b}${v}\n`),
        fc
          .tuple(name, fc.array(fc.constantFrom('"l"', 'bare', '"a b"'), { maxLength: 2 }), tie('body'))
          .map(([type, labels, inner]) => `${[type, ...labels].join(' ')} {\n${inner}}\n`),
      ),
      { maxLength: 4 },
    )
    .map((items) => items.join('')),
}));

export const anyFile = body;
