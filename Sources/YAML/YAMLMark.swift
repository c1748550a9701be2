public import Diagnostics

/// A place in a YAML source is one of any text.
public typealias YAMLMark = TextMark

/// A stretch of a YAML source is one of any text.
public typealias YAMLSpan = TextSpan
