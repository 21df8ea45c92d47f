/** What an MCP server answers to a call, as the model reads it. Nothing in it is trusted, and all of it is bounded. */
import type { ImageBlock } from '../protocol/message.ts';
import { isDeeperThan } from '../protocol/tools/usable-arguments.ts';
import { briefly } from '../util/briefly.ts';
import { shortenMiddle } from '../util/shorten-middle.ts';

/** The parts of an answer that are looked at. */
export interface McpAnswer {
  content?: unknown;
  structuredContent?: unknown;
  isError?: unknown;
}

export interface McpOutcome {
  text: string;
  images: ImageBlock[];
  isError: boolean;
}

/** As much as `exec` shows. */
const MAX_LETTERS = 30_000;
const MAX_IMAGES = 8;
/** base64 letters of all images of one answer */
const MAX_IMAGE_LETTERS = 5_000_000;
const MAX_DEPTH = 64;
const IMAGE_TYPE = /^image\/(?:png|jpeg|gif|webp)$/;

/** Returns text and images of an answer; what a model cannot read is named in the text. `mask` sees every text. */
export function toMcpOutcome(answer: McpAnswer, mask: (text: string) => string): McpOutcome {
  const blocks = Array.isArray(answer.content) ? (answer.content as unknown[]) : [];
  const images: ImageBlock[] = [];
  let room = MAX_IMAGE_LETTERS;
  const texts: string[] = [];
  for (const block of blocks) {
    const image = imageIn(block);
    if (image === undefined) texts.push(textIn(block));
    else if (images.length === MAX_IMAGES || image.data.length > room)
      texts.push(notShown(image.mimeType, image.data, 'there are too many or too large images'));
    else {
      images.push(image);
      room -= image.data.length;
    }
  }
  if (texts.join('') === '') texts.push(structuredText(answer.structuredContent));
  const text = texts.filter((part) => part !== '').join('\n');
  const shown = text === '' && images.length === 0 ? '[no output]' : text;
  return {
    text: shortenMiddle(mask(shown), MAX_LETTERS),
    images,
    isError: answer.isError === true,
  };
}

type Fields = Record<string, unknown>;

function imageIn(block: unknown): ImageBlock | undefined {
  const { type, data, mimeType } = fieldsOf(block);
  if (type !== 'image' || typeof data !== 'string' || typeof mimeType !== 'string')
    return undefined;
  return IMAGE_TYPE.test(mimeType) ? { type, data, mimeType } : undefined;
}

function textIn(block: unknown): string {
  const fields = fieldsOf(block);
  const { type, text, data, mimeType } = fields;
  switch (type) {
    case 'text':
      return word(text);
    case 'image':
    case 'audio':
      return notShown(word(mimeType) || word(type), word(data), 'a model does not read it');
    case 'resource_link':
      return linkText(fields);
    case 'resource':
      return resourceText(fieldsOf(fields['resource']));
    default:
      return `[content of the type ${briefly(word(type))}, which is not shown]`;
  }
}

function linkText({ uri, name, description, mimeType }: Fields): string {
  const about = [word(mimeType), word(description)].filter((part) => part !== '').join(', ');
  return `[resource ${word(name)}: ${word(uri)}${about === '' ? '' : ` (${about})`}]`;
}

function resourceText({ uri, text, blob, mimeType }: Fields): string {
  const place = `[resource ${word(uri)}]`;
  if (typeof text === 'string') return `${place}\n${text}`;
  return `${place} ${notShown(word(mimeType) || 'binary data', word(blob), 'a model does not read it')}`;
}

function structuredText(value: unknown): string {
  if (value === undefined) return '';
  // what is deeper cannot be written out safely
  if (isDeeperThan(value, MAX_DEPTH)) return `[data deeper than ${MAX_DEPTH} levels, not shown]`;
  return JSON.stringify(value) ?? '';
}

function notShown(what: string, base64: string, why: string): string {
  return `[${briefly(what)}, ${Math.ceil((base64.length * 3) / 4 / 1024)} KB, not shown: ${why}]`;
}

function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? (value as Fields) : {};
}

function word(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
