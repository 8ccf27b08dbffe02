package policy

import "sluice/policy/strictjson"

// sizeForm demands a value that is a size; classes says whether 1K and 2K are.
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

// sizeIn demands that a size of the form width*height passes the function. One of another form is another rule's.
func sizeIn(allowed string, legal func(size) bool) check {
	return of(fieldSize, allowed, func(v value) bool {
		s, ok := parseSize(v.text)
		return v.shape != strictjson.String || !ok || s.class() || legal(s)
	})
}

// area demands so many pixels, both ends included.
func area(allowed string, most int64) check {
	return sizeIn(allowed, func(s size) bool { return s.area() >= minArea && s.area() <= most })
}
