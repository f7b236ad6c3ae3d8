import { randomSeed } from '../../support/randomNumbers.js';
import { testGeneratedEmails } from './generatedEmails.js';

testGeneratedEmails(randomSeed(), 25);
