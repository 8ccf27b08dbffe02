-- Reads a task. KEYS  1 task:<id>  2 claims
-- Returns now, the task's fields, and the memory.
return {whole(now), fields(KEYS[1]), memory(KEYS[2])}
