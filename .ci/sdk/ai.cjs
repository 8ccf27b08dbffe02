// Drives the AI SDK with its default provider against Sluice. Each line on standard output names a topic that passed.
const assert = require('node:assert/strict');
const { embedMany, generateText, Output, stepCountIs, streamText, tool } = require('ai');
const { openai } = require('@ai-sdk/openai'); // OPENAI_BASE_URL and OPENAI_API_KEY
const { z } = require('zod');

const model = openai('llm-plus'); // speaks Responses
const prompt = 'What is a sluice?';

let whole;
async function text() {
  const answer = await generateText({ model, prompt });
  assert(answer.text && answer.finishReason === 'stop' && answer.usage.totalTokens > 0);
  whole = answer.text;
  assert((await generateText({ model: openai.chat('llm-plus'), prompt })).text);
}

async function stream() {
  const parts = [];
  const answer = streamText({ model, prompt });
  for await (const part of answer.textStream) parts.push(part);
  assert(parts.length > 2);
  assert.equal(parts.join(''), whole);
  assert.equal(await answer.finishReason, 'stop');
}

async function object() {
  const schema = z.object({ name: z.string(), length_km: z.number().int() });
  const { output } = await generateText({ model, prompt: 'A river', output: Output.object({ schema }) });
  assert(output.name && Number.isInteger(output.length_km));
}

async function tools() {
  const rivers = [];
  const water_level = tool({
    description: 'The level of a river',
    inputSchema: z.object({ river: z.string() }),
    execute: async ({ river }) => (rivers.push(river), '2.1 m'),
  });
  const answer = await generateText({ model, prompt: 'Which water_level has the Elbe?', tools: { water_level }, stopWhen: stepCountIs(3) });
  assert(rivers.length === 1 && answer.steps.length === 2 && answer.text, `${rivers} in ${answer.steps.length} steps`);
}

// What the SDK believes to be kept it refers to; with store: false it sends the turns themselves.
async function turns() {
  const providerOptions = { openai: { store: false } };
  const inputSchema = z.object({ river: z.string() });
  const water_level = tool({ description: 'The level of a river', inputSchema, execute: async () => '2.1 m' });
  const asked = { role: 'user', content: 'Which water_level has the Elbe?' };
  const thinks = { openai: { forceReasoning: true, reasoningEffort: 'low', reasoningSummary: 'auto' } };
  const loop = await generateText({ model, messages: [asked], tools: { water_level }, stopWhen: stepCountIs(3), providerOptions: thinks });
  assert(loop.steps.length === 2 && loop.text && loop.steps[0].reasoningText);
  const messages = [asked, ...loop.response.messages, { role: 'user', content: 'Go on.' }];
  assert((await generateText({ model, messages, providerOptions })).text);

  const named = openai('gpt-5-mini'); // a name of a model that thinks: after an answer without a thought the SDK sends the text itself
  const first = { role: 'user', content: prompt };
  const { response } = await generateText({ model: named, messages: [first] });
  assert((await generateText({ model: named, messages: [first, ...response.messages, first] })).text);
}

async function embeddings() {
  const { embeddings, usage } = await embedMany({ model: openai.embedding('llm-embedding'), values: ['A mill', 'A lock'] });
  assert(embeddings.length === 2 && embeddings[0].length === 1024 && usage.tokens > 0);
}

(async () => {
  for (const [topic, drive] of Object.entries({ text, stream, object, tools, turns, embeddings })) {
    await drive();
    console.log(topic);
  }
})();
