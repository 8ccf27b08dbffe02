// Drives OpenAI's JavaScript library against Sluice's Responses. Each line on standard output names a topic that passed.
const assert = require('node:assert/strict');
const OpenAI = require('openai').default;

const client = new OpenAI(); // OPENAI_BASE_URL and OPENAI_API_KEY
const input = 'What is a sluice?';
const parameters = { type: 'object', properties: { river: { type: 'string' } }, required: ['river'], additionalProperties: false };
const tools = [{ type: 'function', name: 'water_level', description: 'The level of a river', parameters, strict: true }, { type: 'web_search' }];

let whole;
async function create() {
  const answer = await client.responses.create({ model: 'llm-plus', instructions: 'Be brief.', input });
  whole = answer.output_text;
  assert(whole && answer.status === 'completed' && answer.model === 'llm-plus' && answer.store === false);
  assert.equal((await client.responses.create({ model: 'gpt-4o', input: [{ role: 'user', content: input }] })).model, 'gpt-4o');
}

async function usage() {
  const { usage, status, incomplete_details } = await client.responses.create({ model: 'llm-plus', input, max_output_tokens: 16 });
  assert(status === 'incomplete' && incomplete_details.reason === 'max_output_tokens');
  assert.equal(usage.output_tokens, 16);
  assert.equal(usage.total_tokens, usage.input_tokens + 16);
  assert.equal(usage.input_tokens_details.cached_tokens, 0);
}

async function stream() {
  let text = '';
  let number = 0;
  for await (const event of await client.responses.create({ model: 'llm-plus', instructions: 'Be brief.', input, stream: true })) {
    assert.equal(event.sequence_number, number++);
    if (event.type === 'response.output_text.delta') text += event.delta;
  }
  assert.equal(text, whole);
  const final = await client.responses.stream({ model: 'llm-plus', instructions: 'Be brief.', input }).finalResponse();
  assert(final.output_text === whole && final.usage.total_tokens > 0);
}

async function thinking() {
  const answer = await client.responses.create({ model: 'llm-plus', input, reasoning: { effort: 'medium', summary: 'auto' } });
  assert.deepEqual(answer.output.map((item) => item.type), ['reasoning', 'message']);
  const back = [{ role: 'user', content: input }, ...answer.output, { role: 'user', content: 'Go on.' }];
  assert((await client.responses.create({ model: 'llm-plus', input: back })).output_text);
}

async function callTools() {
  const ask = [{ role: 'user', content: 'Which water_level has the Elbe?' }];
  const { data, response } = await client.responses.create({ model: 'llm-plus', input: ask, tools }).withResponse();
  assert(response.headers.get('sluice-warning').includes('web_search'));
  const call = data.output[0];
  assert(call.type === 'function_call' && call.name === 'water_level' && 'river' in JSON.parse(call.arguments));
  const streamed = (await client.responses.stream({ model: 'llm-plus', input: ask, tools }).finalResponse()).output[0];
  assert.deepEqual(JSON.parse(streamed.arguments), JSON.parse(call.arguments));
  const back = [...ask, call, { type: 'function_call_output', call_id: call.call_id, output: '2.1 m' }];
  assert((await client.responses.create({ model: 'llm-plus', input: back, tools })).output_text);
}

async function customTools() {
  const patch = [{ type: 'custom', name: 'patch', description: 'Edits files' }];
  const call = (await client.responses.create({ model: 'llm-plus', input: 'Use the patch tool.', tools: patch })).output[0];
  assert(call.type === 'custom_tool_call' && call.name === 'patch' && call.input);
  let pieces = '';
  for await (const event of await client.responses.create({ model: 'llm-plus', input: 'Use the patch tool.', tools: patch, stream: true })) {
    if (event.type === 'response.custom_tool_call_input.delta') pieces += event.delta;
  }
  assert.equal(pieces, call.input);
}

async function structured() {
  const schema = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'], additionalProperties: false };
  const answer = await client.responses.parse({
    model: 'llm-plus', input: 'A river as JSON', text: { format: { type: 'json_schema', name: 'river', strict: true, schema } },
  });
  assert.equal(typeof JSON.parse(answer.output_text).name, 'string');
}

async function picturesIn() {
  const content = [{ type: 'input_text', text: 'What is this?' }, { type: 'input_image', detail: 'auto', image_url: 'https://pictures.example/mill.png' }];
  assert((await client.responses.create({ model: 'llm-vl', input: [{ role: 'user', content }] })).output_text);
}

async function errors() {
  const refused = (kind, code, param, change) => assert.rejects(
    client.responses.create({ model: 'llm-plus', input, ...change }),
    (e) => e instanceof kind && e.code === code && (e.param ?? null) === param && !!e.requestID && !e.message.includes('parameters.'),
  );
  await refused(OpenAI.BadRequestError, 'InvalidParameter', 'top_p', { top_p: 3 });
  await refused(OpenAI.BadRequestError, 'InvalidParameter', 'previous_response_id', { previous_response_id: 'resp_1' });
  await refused(OpenAI.NotFoundError, 'model_not_found', 'model', { model: 'secret-model' });
  await assert.rejects(client.responses.retrieve('resp_1'), (e) => e instanceof OpenAI.NotFoundError && e.message.includes('No response is kept'));
}

(async () => {
  for (const [topic, check] of Object.entries({
    create, usage, stream, thinking, tools: callTools, 'custom tools': customTools, 'structured output': structured, pictures: picturesIn, errors,
  })) {
    await check();
    console.log(topic);
  }
})();
