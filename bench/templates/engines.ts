import { createRequire } from 'node:module';
import { Liquid } from 'liquidjs';
import { compileTemplate } from 'rowpost-jinja2';
import { CONTEXT, JINJA2, LIQUID } from './orderConfirmation.js';

/** One engine, ready to compile the page and to render it. */
export interface Engine {
  readonly name: string;
  /** Whether it escapes what it prints, as an email must. */
  readonly escapes: boolean;
  /** Compiles the page; what it returns renders it. */
  compile(): () => string;
}

/** The peers have a package of their own beside this file: `npm ci` there first. */
const require = createRequire(import.meta.url);

function loadPeer(name: string): unknown {
  return require(name);
}

interface Nunjucks {
  readonly Environment: new (loaders: null, options: { autoescape: boolean }) => object;
  readonly Template: new (
    source: string,
    env: object,
    path: string,
    eager: boolean,
  ) => { render(context: object): string };
}

interface HuggingFaceJinja {
  readonly Template: new (source: string) => { render(context: object): string };
}

interface MiniJinja {
  readonly Environment: new () => {
    addTemplate(name: string, source: string): void;
    renderTemplate(name: string, context: object): string;
    free(): void;
  };
}

function ours(): Engine {
  return {
    name: 'this engine, Jinja2',
    escapes: true,
    compile() {
      const template = compileTemplate(JINJA2, { mode: 'html' });
      return () => template.render(CONTEXT);
    },
  };
}

function liquidjs(): Engine {
  const liquid = new Liquid({ outputEscape: 'escape' });
  return {
    name: 'liquidjs, its own syntax',
    escapes: true,
    compile() {
      const templates = liquid.parse(LIQUID);
      return () => liquid.renderSync(templates, CONTEXT) as string;
    },
  };
}

function nunjucks(): Engine {
  const { Environment, Template } = loadPeer('nunjucks') as Nunjucks;
  const environment = new Environment(null, { autoescape: true });
  return {
    name: 'nunjucks',
    escapes: true,
    compile() {
      const template = new Template(JINJA2, environment, 'order', true);
      return () => template.render(CONTEXT);
    },
  };
}

function huggingFace(): Engine {
  const { Template } = loadPeer('@huggingface/jinja') as HuggingFaceJinja;
  return {
    name: '@huggingface/jinja',
    escapes: false,
    compile() {
      const template = new Template(JINJA2);
      return () => template.render(CONTEXT);
    },
  };
}

function minijinja(): Engine {
  const { Environment } = loadPeer('minijinja-js') as MiniJinja;
  const environment = new Environment();
  return {
    name: 'minijinja-js (WASM)',
    escapes: true,
    compile() {
      environment.addTemplate('order.html', JINJA2);
      return () => environment.renderTemplate('order.html', CONTEXT);
    },
  };
}

/** Every engine, LiquidJS first: the others are measured against it. */
export function allEngines(): Engine[] {
  return [liquidjs(), ours(), nunjucks(), huggingFace(), minijinja()];
}
