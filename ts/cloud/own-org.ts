/** The organisation that is there from the first start: that of the machine's owner. */
export const OWN_ORG = 'me';
