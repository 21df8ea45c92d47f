import { z } from 'zod';
import { whyUnusable } from '../../protocol/tools/usable-arguments.ts';
import { nearestName } from '../../util/nearest-name.ts';
import type { AgentTool, ToolContext, ToolOutcome } from '../runtime.ts';
import { PathRefusal } from './path-refusal.ts';
import { briefly } from '../../util/briefly.ts';

/** A tool as its file declares it: a zod schema of the arguments, and what to do with checked ones. */
export interface ToolDeclaration<Shape extends z.ZodRawShape> {
  name: string;
  description: string;
  parameters: Shape;
  repeatable: boolean;
  /** Resolves with the text of a success, or with an outcome; a `PathRefusal` or a file system error becomes an error outcome. */
  run(args: z.output<z.ZodObject<Shape>>, context: ToolContext): Promise<string | ToolOutcome>;
}

/** Returns the tool. Its `execute` checks the arguments first and never rejects for what a model did wrong. */
export function defineTool<Shape extends z.ZodRawShape>(
  declaration: ToolDeclaration<Shape>,
): AgentTool {
  const { name, description, repeatable } = declaration;
  const schema = z.strictObject(declaration.parameters);
  return {
    spec: { name, description, parameters: toParameters(schema) },
    repeatable,
    async execute(args, context) {
      const given = Object.fromEntries(Object.entries(args).filter(([, value]) => value !== null));
      const parsed = schema.safeParse(given);
      if (!parsed.success)
        return failure(
          `${name}: ${describeIssue(parsed.error, { given, known: Object.keys(declaration.parameters) })}`,
        );
      try {
        const outcome = await declaration.run(parsed.data, context);
        return typeof outcome === 'string' ? { text: outcome, isError: false } : outcome;
      } catch (error) {
        const reason = expectedReason(error);
        if (reason === undefined) throw error;
        return failure(`${name}: ${reason}`);
      }
    },
  };
}

/** Returns an error outcome with this text. */
export function failure(text: string): ToolOutcome {
  return { text, isError: true };
}

/** JSON Schema without what only costs tokens: the dialect, the bounds of safe integers, the ban on extras. */
function toParameters(schema: z.ZodObject): Record<string, unknown> {
  const {
    $schema: _dialect,
    additionalProperties: _extras,
    ...rest
  } = z.toJSONSchema(schema, {
    io: 'input',
    override: ({ jsonSchema }) => {
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
    },
  });
  return rest;
}

function describeIssue(
  error: z.ZodError,
  { given, known }: { given: Record<string, unknown>; known: string[] },
): string {
  const takes = `it takes ${known.join(', ')}`;
  const unknown = error.issues.find((issue) => issue.code === 'unrecognized_keys');
  if (unknown) {
    const key = unknown.keys[0] ?? '';
    const flaw = whyUnusable(given);
    if (flaw !== undefined) return flaw;
    const near = nearestName(key, known, { within: 2 });
    return `unknown parameter ${JSON.stringify(briefly(key))}; ${near === undefined ? takes : `did you mean ${near}?`}`;
  }
  const issue = error.issues[0];
  const name = String(issue?.path[0] ?? '');
  if (given[name] === undefined) return `${name} is missing; ${takes}`;
  return `${name}: ${issue?.message ?? 'not valid'}`;
}

const FILE_ERRORS: Record<string, string> = {
  ENOENT: 'no such file',
  EISDIR: 'this is a folder, not a file',
  ENOTDIR: 'a part of the path is a file, not a folder',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EROFS: 'the file system is read-only',
  ENAMETOOLONG: 'the name is too long',
  ELOOP: 'the path holds a symlink that leads nowhere',
  ENOSPC: 'no space left',
};

/** Node's own messages hold the real path, which a model has no use for. */
function expectedReason(error: unknown): string | undefined {
  if (error instanceof PathRefusal) return error.message;
  if (!(error instanceof Error) || !('code' in error)) return undefined;
  const fallback =
    'syscall' in error ? `the file system answered ${String(error.code)}` : undefined;
  return FILE_ERRORS[String(error.code)] ?? fallback;
}
