import { runRenderCommand } from '../templates/renderCommand.js';
import type { Command } from './command.js';

export const render: Command = (args) =>
  runRenderCommand([...args], { stdin: process.stdin, stdout: process.stdout, stderr: process.stderr });
