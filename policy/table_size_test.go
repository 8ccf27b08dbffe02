package policy_test

import "slices"

// sizes quotes sizes.
func sizes(values ...string) []string {
	for i, v := range values {
		values[i] = `"` + v + `"`
	}
	return values
}

// recommended are the sizes that interface.md recommends.
var recommended = sizes("1280*1280", "800*1200", "1200*800", "960*1280", "1280*960", "720*1280", "1280*720", "1344*576")

var sizeCases = []ruleCase{
	{
		id: "image.sync.size", call: "sync", pass: syncParam("size", append(sizes("1*1", "1328*1328", "9999*1"), slices.Clone(recommended)...)...),
		breach: syncParam("size", append(sizes("1K", "2K", "1280x1280", "1280*0", ""), `5`, `{}`)...),
	},
	{
		id: "image.edit.size", call: "task",
		pass: editParam("size", append(sizes("1K", "2K"), append(slices.Clone(recommended), "null")...)...),
		breach: editParam("size", append(sizes("1280x1280", "１２８０*1280", " 1280*1280", "1280*1280 ", "+1280*1280", "01280*1280", "1e3*1e3",
			"1280*1280*1", "2k", "1k", "4K", "1280", "1280*", "*1280", "", "-1280*-1280", "1280.0*1280", "0*0"), `1280`, `[1280,1280]`)...),
	},
	{
		id: "image.interleave.size", call: "task+sse",
		pass:   interleaveParam("size", slices.Clone(recommended)...),
		breach: interleaveParam("size", sizes("1K", "2K", "1280x1280")...),
	},
	{
		id: "image.edit.size.area", call: "task",
		pass:   editParam("size", sizes("768*768", "2048*2048", "1024*4096", "4096*1024", "384*1536")...),
		breach: editParam("size", sizes("768*752", "2048*2064", "1040*4096", "2064*2048")...),
	},
	{
		id: "image.interleave.size.area", call: "task+sse",
		pass:   interleaveParam("size", sizes("768*768", "1280*1280", "640*2560", "769*768")...),
		breach: interleaveParam("size", sizes("767*768", "1281*1280", "2048*2048")...),
	},
	{
		id: "image.size.aspect", call: "task",
		pass:   editParam("size", sizes("384*1536", "1536*384")...),
		breach: editParam("size", sizes("384*1552", "1552*384")...),
	},
	{
		id: "image.size.aspect", call: "task", besides: "image.edit.size.area image.size.multiple?",
		breach: editParam("size", sizes("4294967297*1", "99999999999999999999*1")...),
	},
	{
		id: "image.size.multiple?", call: "task",
		pass:   editParam("size", sizes("1280*1280")...),
		breach: editParam("size", sizes("1281*1280", "1280*1272")...),
	},
}
