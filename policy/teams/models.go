package teams

import "sluice/policy/strictyaml"

// readAliases reads other names of models, for clients that cannot use the service's.
func readAliases(n strictyaml.Node) map[string]string {
	aliases, places := map[string]string{}, map[string]strictyaml.Node{}
	n.Pairs("names with the models that they stand for", func(name string, key, value strictyaml.Node) {
		if _, ok := modelName.Parse(name); !ok {
			key.Refuse(name, modelName.Allowed)
		}
		aliases[name], _ = strictyaml.Read(value, modelName)
		places[name] = value
	})
	for name, model := range aliases {
		if _, again := aliases[model]; again {
			places[name].Refuse(model, "a model of the service, not another alias")
		}
	}
	return aliases
}
