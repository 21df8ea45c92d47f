import { oneLine } from './printable.ts';

export interface Column<Row> {
  title: string;
  value(row: Row): string;
  align?: 'right';
}

const GAP = '  ';
const MAX_CELL = 60;

/**
 * Returns aligned lines, the titles first. A column without any value is left out; with a
 * `width` the lines are cut there.
 */
export function formatTable<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  width?: number,
): string[] {
  const filled = columns
    .map((column) => ({
      column,
      cells: rows.map((row) => oneLine(column.value(row), MAX_CELL)),
    }))
    .filter(({ cells }) => cells.some((cell) => cell !== ''));
  const lines = [-1, ...rows.keys()].map((index) =>
    filled
      .map(({ column, cells }) => {
        const size = Math.max(column.title.length, ...cells.map(lengthOf));
        const cell = index < 0 ? column.title : (cells[index] ?? '');
        const padding = ' '.repeat(size - lengthOf(cell));
        return column.align === 'right' ? padding + cell : cell + padding;
      })
      .join(GAP)
      .trimEnd(),
  );
  return width === undefined ? lines : lines.map((line) => oneLineKeepingGaps(line, width));
}

function oneLineKeepingGaps(line: string, width: number): string {
  const characters = Array.from(line);
  return characters.length <= width ? line : `${characters.slice(0, width - 1).join('')}…`;
}

function lengthOf(text: string): number {
  return Array.from(text).length;
}
