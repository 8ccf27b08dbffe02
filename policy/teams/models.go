package teams

// readAliases reads other names of models, for clients that cannot use the service's.
func readAliases(n node) map[string]string {
	aliases, places := map[string]string{}, map[string]node{}
	n.pairs("names with the models that they stand for", func(name string, key, value node) {
		if _, ok := modelName.parse(name); !ok {
			key.refuse(name, modelName.allowed)
		}
		aliases[name], _ = read(value, modelName)
		places[name] = value
	})
	for name, model := range aliases {
		if _, again := aliases[model]; again {
			places[name].refuse(model, "a model of the service, not another alias")
		}
	}
	return aliases
}
