"""What several tools share: options, failures and endings, and the ways of Java that they print in."""
