// docs/images/<name>.svg from docs/diagrams/<name>.yaml: `npm run docs`.
import { readdirSync, readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { drawBoxes, type BoxDiagram } from './boxes.js';
import { drawSequence, type SequenceDiagram } from './sequence.js';

const FOLDER = new URL('../../docs/diagrams/', import.meta.url);

/** By the file that each belongs into. */
export const DIAGRAMS: Readonly<Record<string, () => string>> = Object.fromEntries(
  readdirSync(FOLDER).map((file) => [
    `docs/images/${file.replace(/\.yaml$/, '.svg')}`,
    () => {
      const diagram = parse(readFileSync(new URL(file, FOLDER), 'utf8')) as BoxDiagram | SequenceDiagram;
      return 'steps' in diagram ? drawSequence(diagram) : drawBoxes(diagram);
    },
  ]),
);
