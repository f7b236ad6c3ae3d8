import { runRenderCommand } from '../templates/index.js';
import type { Command } from './command.js';

export const render: Command = (args) =>
  runRenderCommand([...args], { stdin: process.stdin, stdout: process.stdout, stderr: process.stderr });
