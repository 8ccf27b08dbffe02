package policy

// rules is interface.md in executable form: one row per sentence.
var rules = []rule{
	{
		ID: "header.async", When: always, Field: "Async header",
		Check: check{allowed: "enable where a task is created, elsewhere disable or no such header", find: asyncHeader},
		From:  "3: X-Service-Async: enable (required, must be enable).",
		Mode:  ModeRefuse,
	},
	{
		ID: "header.sse", When: always, Field: "SSE header",
		Check: check{allowed: "enable or disable", find: sseHeader},
		From:  "1: For streaming, also X-Service-SSE: enable.",
		Mode:  ModeRefuse,
	},
}

var always = when{"every request", func(*Request) bool { return true }}
