package policy

import "sluice/policy/strictjson"

// sizeForm demands a size; classes says whether 1K and 2K are sizes.
func sizeForm(classes bool) check {
	allowed := "width*height in digits"
	if classes {
		allowed = "1K, 2K or width*height in digits"
	}
	return of(fieldSize, allowed, func(v value) bool {
		s, ok := parseSize(v.text)
		return v.shape == strictjson.String && ok && (classes || !s.class())
	})
}

// sizeIn demands that the function is true for a size of the form width*height. Another rule judges other forms.
func sizeIn(allowed string, legal func(size) bool) check {
	return of(fieldSize, allowed, func(v value) bool {
		s, ok := parseSize(v.text)
		return v.shape != strictjson.String || !ok || s.class() || legal(s)
	})
}

// area demands minArea to most pixels.
func area(allowed string, most int64) check {
	return sizeIn(allowed, func(s size) bool { return s.area() >= minArea && s.area() <= most })
}
