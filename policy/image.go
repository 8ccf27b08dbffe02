package policy

func (r *reader) image(raw []byte, escaped bool) {}

func (r *reader) media(raw []byte, escaped bool) {}
